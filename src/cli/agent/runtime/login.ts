import { loginForCodex } from "../../../flows/agent/runtime/login.js";
import { secretFrom } from "../../../flows/secret-source.js";
import type { Session } from "../../../flows/session.js";
import type { Secret } from "../../../secret.js";
import type { Handler } from "../../command.js";
import { runOnAgents } from "../../run-on-agents.js";
import { login } from "./commands.js";
import { canaryPace } from "./view.js";

export const run: Handler<typeof login> = ({ args, options }, clm) => {
  const { withApiKey, codexHome: home } = options;
  let key: Promise<Secret> | undefined;
  // Read once, for all agents.
  const keyFrom = (session: Session) => {
    key ??= secretFrom(session, { kind: "stdin" }, { what: "the API key", flag: "--with-api-key" });
    return key;
  };
  // A person logs in to one at a time.
  const pace = { ...canaryPace(options), parallel: withApiKey ? options.parallel : 1 };
  return runOnAgents(login, { args, options }, clm, {
    pace,
    run: async (session, ref) => {
      const apiKey = withApiKey ? await keyFrom(session) : undefined;
      return loginForCodex(session, ref, { apiKey, home, hear: (line) => session.ui.note(line) });
    },
    json: ({ agent: _, ...result }) => result,
    lines: ({ agent, codex, needless, hermes }, subject) => {
      if (clm.dryRun) return [];
      const without = needless ? "needs no login: its model provider is your own" : "is not logged in";
      return [
        codex ? `${subject}has a Codex that is logged in (${codex})` : `${subject}has a Codex that ${without}`,
        hermes
          ? `${subject}is logged in itself`
          : `${subject}itself has no login: clm agent runtime login ${agent.ref}`,
      ];
    },
  });
};
