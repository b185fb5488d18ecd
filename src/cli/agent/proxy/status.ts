import { proxyStatus } from "../../../flows/agent/proxy/status.js";
import type { Handler } from "../../command.js";
import { runOnAgents } from "../../run-on-agents.js";
import { status } from "./commands.js";
import { describeStatus, howToReach, statusJson } from "./view.js";

export const run: Handler<typeof status> = ({ args, options }, clm) =>
  runOnAgents(status, { args, options }, clm, {
    run: (session, ref) => proxyStatus(session, ref),
    json: statusJson,
    lines: (found, subject) => {
      if (found.trouble || !found.proxy) return subject === "" && !found.proxy ? ["has no proxy"] : [];
      const { agent, proxy } = found;
      return subject === "" ? [`lends its login at ${proxy.provider}, port ${proxy.port}`] : howToReach(agent, proxy);
    },
    print: (found) => clm.ui.out(`${describeStatus(found)}\n`),
    verify: ({ trouble }) => {
      if (trouble) throw trouble;
    },
  });
