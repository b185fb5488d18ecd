import { runtimeStatus } from "../../../flows/agent/runtime/status.js";
import { briefCheckView, checkView } from "../../agent-view.js";
import type { Handler } from "../../command.js";
import { runOnAgents } from "../../run-on-agents.js";
import { status } from "./commands.js";
import { describeStatus, inBrief, mustRun } from "./view.js";

export const run: Handler<typeof status> = ({ args, options }, clm) =>
  runOnAgents(status, { args, options }, clm, {
    pace: { parallel: options.parallel },
    run: (session, ref) => runtimeStatus(session, ref),
    json: ({ name, runtime, setting, permissions, mirror, checks, report: { home, program, version } }) => ({
      runtime,
      mirror,
      permissions,
      ...(setting !== undefined && { setting }),
      [name]: { home, program, version },
      checks,
    }),
    verify: mustRun,
    lines: (result, subject) => (subject === "" ? [inBrief(result)] : []),
    print: (result) => {
      clm.ui.out(`${describeStatus(result)}\n\n`);
      clm.list(result.checks, result.enabled ? briefCheckView : checkView);
    },
  });
