import { isAsIntended } from "../../agents/probe/status/judge.js";
import type { AgentStatus } from "../../flows/fleet/agent-status.js";
import { withSession } from "../../flows/session.js";
import { checkView } from "../agent-view.js";
import type { Context, Handler } from "../command.js";
import { factsOf } from "../ps/facts.js";
import { describeStatus } from "../ps/in-full.js";
import { connectTimeout, probeWith } from "../ps/ps.js";
import { chooseAgents, namesOneAgent } from "../run-on-agents.js";
import type { status } from "./commands.js";

export const run: Handler<typeof status> = async ({ args, options }, clm) => {
  const { noDrift } = options;
  const agents = chooseAgents(clm, args.names, options);
  const found = await withSession({ ...clm, timeout: connectTimeout }, (session) =>
    probeWith(clm, session, agents, !noDrift),
  );
  const lone = namesOneAgent(args.names) ? found[0] : undefined;
  if (clm.format === "name") clm.ui.out(found.map(({ agent }) => `${agent.ref}\n`).join(""));
  else if (clm.format !== "table") clm.show(lone ? factsOf(lone) : found.map(factsOf));
  else for (const [at, each] of found.entries()) showOne(clm, each, at > 0);
  return found.every(isAsIntended) ? 0 : 1;
};

function showOne(clm: Context, found: AgentStatus, apart: boolean): void {
  if (apart) clm.ui.out("\n");
  clm.show(undefined, () => describeStatus(found, clm.now()));
  if (found.proofs.length === 0) return;
  clm.ui.out("\n");
  clm.list(found.proofs, checkView);
}
