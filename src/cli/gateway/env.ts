import { type Environment, environmentOf } from "../../flows/gateway/environment.js";
import { sh } from "../../quote.js";
import type { Handler } from "../command.js";
import type { env } from "./commands.js";
import { keyVariable, settingsOf, settingsText } from "./tools/client-tools.js";

export const run: Handler<typeof env> = async ({ args, options }, clm) => {
  const found = await clm.withSession(async (session) => environmentOf(session, args.key, options));
  const { key, gateway, target, models } = found;
  const settings = settingsOf(options.tool, target);
  const first = firstLines(found);
  clm.show(
    {
      key: { id: key.id, name: key.name, signed: key.signed },
      gateway,
      base_url: target.base,
      variable: keyVariable,
      model: target.model,
      models,
      first,
      settings,
    },
    () => [`# models of ${key.name}: ${models.join(", ")}`, ...first, "", settingsText(settings)].join("\n"),
  );
};

/** Before all settings: how to set the variable that they read. */
function firstLines({ key, gateway }: Environment): string[] {
  // Read from a prompt, so that the key is in no history and no argument.
  const read = (name: string) => `read -rs ${name} && export ${name}`;
  if (!key.signed)
    return ["# paste the key, as it was printed when it was created, and press Enter", read(keyVariable)];
  return [
    "# requests with this key must be signed: keep this running, and paste the key at its prompt",
    `#   ${sh`clm gateway sign-proxy --to ${gateway} --port 4142`}`,
    "# then paste the local key that it prints",
    read(keyVariable),
  ];
}
