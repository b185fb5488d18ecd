import { loginRuntime } from "../../../flows/agent/runtime/login.js";
import { secretFrom } from "../../../flows/secret-source.js";
import type { Session } from "../../../flows/session.js";
import type { Secret } from "../../../secret.js";
import type { Handler } from "../../command.js";
import { runOnAgents } from "../../run-on-agents.js";
import { login, loginHome } from "./commands.js";
import { canaryPace } from "./view.js";

export const run: Handler<typeof login> = ({ args, options }, clm) => {
  const { withApiKey } = options;
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
      return loginRuntime(session, ref, {
        apiKey: withApiKey ? await keyFrom(session) : undefined,
        home: loginHome(options),
        onLine: (line) => session.ui.note(line),
      });
    },
    json: ({ agent, name, state, done }) => ({
      [name]: state.program,
      needless: !state.needed,
      [agent.record.type]: state.agent,
      done,
    }),
    lines: ({ agent, title, state: { program, needed, agent: agentLogin } }, subject) => {
      if (clm.dryRun) return [];
      const without = needed ? "is not logged in" : "needs no login: its model provider is your own";
      return [
        program
          ? `${subject}has a ${title} that is logged in (${program})`
          : `${subject}has a ${title} that ${without}`,
        agentLogin
          ? `${subject}is logged in itself`
          : `${subject}itself has no login: clm agent runtime login ${agent.ref}`,
      ];
    },
  });
};
