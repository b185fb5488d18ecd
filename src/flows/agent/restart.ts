import { unit } from "../../remote/operations/operation.js";
import { agentId, findAgent, hostAndName } from "../../state/agents.js";
import type { Session } from "../session.js";
import { step } from "../step.js";
import { withLockedAgent } from "./agent-lock.js";
import { bring } from "./bring.js";
import { kill, whileItEnds } from "./ending.js";
import { mustBeInstalled, mustBeReady, mustBeRunnable } from "./preconditions.js";
import { isMeantToRun, mustAnswer, type Started } from "./start.js";

export interface Restarting {
  /** Also when onboarding is not complete. */
  force: boolean;
  /** Without waiting for model calls that are running. */
  now: boolean;
}

/** Restart: every gate is passed before the agent is stopped, so that one that cannot come up again keeps running. */
export function restartAgent(session: Session, word: string, options: Restarting): Promise<Started> {
  return withLockedAgent(session, word, (agent) => restart(session, hostAndName(agent), options));
}

async function restart(session: Session, word: string, { force, now }: Restarting): Promise<Started> {
  const { ui, gate } = session;
  const agent = findAgent(session.hosts.read(), word);
  mustBeInstalled(agent);
  if (!force) mustBeReady(agent, "restart");
  const { root } = await step(ui, `check ${agent.name} on ${agent.host.name}`, () => mustBeRunnable(session, agent));
  const action = { verb: "agent restart", target: word, summary: `restart ${agentId(agent)}` };
  const wish = [unit(agent.record.unit, { enabled: true, state: "restarted" })];
  const first = async () => {
    await isMeantToRun(session, agent);
    if (now) await kill(session, { root, agent });
  };
  const bringing = { root, wish, first, title: `restart ${agent.record.unit}` };
  const changes = await whileItEnds(session, { root, agent }, () => bring(session, action, bringing));
  const proofs = gate.dryRun ? [] : await mustAnswer(session, agent, { verb: "restart", force });
  return { agent, changes, proofs };
}
