import { type Environment, environmentOf } from "../../../flows/gateway/tools/env.js";
import { keyVariable } from "../../../flows/gateway/tools/settings.js";
import { withSession } from "../../../flows/session.js";
import { sh } from "../../../quote.js";
import type { Handler } from "../../command.js";
import type { env } from "./commands.js";
import { settingsOf, settingsText } from "./text.js";

export const run: Handler<typeof env> = async ({ args, options }, clm) => {
  const found = await withSession(clm, async (session) => environmentOf(session, args.key, options));
  const { key, gateway, reached, models } = found;
  const settings = settingsOf(options.tool, reached);
  const first = firstOf(found);
  clm.show(
    {
      key: { id: key.id, name: key.name, signed: key.signed },
      ...{ gateway, base_url: reached.base, variable: keyVariable, model: reached.model, models, first, settings },
    },
    () => [`# models of ${key.name}: ${models.join(", ")}`, ...first, "", settingsText(settings)].join("\n"),
  );
  return undefined;
};

/** What comes before all settings: the variable they read. */
function firstOf({ key, gateway }: Environment): string[] {
  // Typed at a prompt it is in no history and nobody's argument.
  const typed = (name: string) => `read -rs ${name} && export ${name}`;
  if (!key.signed) return [`# the key, as it was shown when it was made; paste it and press Enter`, typed(keyVariable)];
  return [
    "# this key demands signatures: keep this running, with the key pasted at its question",
    `#   ${sh`clm gateway sign-proxy --to ${gateway} --port 4142`}`,
    "# and here paste the local key that it shows",
    typed(keyVariable),
  ];
}
