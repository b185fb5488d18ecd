import type { Change } from "../../agents/plan/change.js";
import { unit } from "../../remote/operations/operation.js";
import { type Agent, agentId, findAgent, hostAndName } from "../../state/agents.js";
import type { Session } from "../session.js";
import { step } from "../step.js";
import { withLockedAgent } from "./agent-lock.js";
import { bring } from "./bring.js";
import { changeRecord, withDown, withState } from "./configure/record.js";
import { evenByForce, mustBeInstalled, mustBeReady, mustBeRunnable, mustHold } from "./preconditions.js";
import { type Proof, proveAndSee } from "./prove.js";

export interface Started {
  agent: Agent;
  /** None when it was up and enabled before. */
  changes: Change[];
  /** None in a dry run. */
  proofs: Proof[];
}

/** Start: the unit is enabled and up, stays up, and what answers on its port is this agent. */
export function startAgent(session: Session, word: string, options: { force: boolean }): Promise<Started> {
  return withLockedAgent(session, word, (agent) => start(session, hostAndName(agent), options));
}

async function start(session: Session, word: string, { force }: { force: boolean }): Promise<Started> {
  const { ui, gate } = session;
  const agent = findAgent(session.hosts.read(), word);
  mustBeInstalled(agent);
  if (!force) mustBeReady(agent, "start");
  const { root, seen } = await step(ui, `check ${agent.name} on ${agent.host.name}`, () =>
    mustBeRunnable(session, agent),
  );
  const { ActiveState, UnitFileState, NeedDaemonReload } = seen.unit;
  const already = ActiveState === "active" && UnitFileState === "enabled" && NeedDaemonReload !== "yes";
  const action = { verb: "agent start", target: word, summary: `start ${agentId(agent)}` };
  const wish = [unit(agent.record.unit, { enabled: true, state: "started" })];
  const first = () => isMeantToRun(session, agent);
  // Somebody may have started it who did not ask clm.
  if (already && agent.record.down) await gate.pass(action, first);
  const changes = already
    ? []
    : await bring(session, action, { root, wish, first, title: `start ${agent.record.unit}` });
  const proofs = gate.dryRun ? [] : await mustAnswer(session, agent, { verb: "start", force });
  return { agent, changes, proofs };
}

/** Written down before the host is changed: killed in between, it is what is to be. */
export const isMeantToRun = (session: Session, agent: Agent): Promise<unknown> =>
  changeRecord(session, agent, (now) => withDown(now, false));

// As the page has it: ActiveState is looked at when the unit has had three seconds to settle.
const settle = 5000;

export interface Answering {
  verb: "start" | "restart";
  force: boolean;
}

/**
 * Up and steady, and answering its own key. One that was started by force may have nothing to answer with: of that only
 * the first is asked, and the rest told. One that was ready and is not well has to be validated again.
 */
export async function mustAnswer(session: Session, agent: Agent, { verb, force }: Answering): Promise<Proof[]> {
  const lenient = force && agent.record.onboarding.state !== "ready";
  const { proofs, seen } = await proveAndSee(session, agent, {
    chat: false,
    noChat: "asked by clm agent configure",
    ...(lenient && { timeout: settle }),
  });
  const must = lenient ? evenByForce(proofs, seen) : proofs;
  if (must.some(({ result }) => result === "fail")) await setBack(session, agent, verb);
  mustHold(must, `${agentId(agent)} was ${verb}ed but is not well`);
  for (const { id, result, reason } of proofs)
    if (result === "warn" || result === "fail") session.ui.warn(`${id}: ${reason}`);
  return proofs;
}

async function setBack(session: Session, agent: Agent, verb: Answering["verb"]): Promise<void> {
  const action = {
    verb: `agent ${verb}`,
    target: hostAndName(agent),
    summary: `record that ${agentId(agent)} is not well`,
  };
  await session.gate.pass(
    action,
    () => changeRecord(session, agent, (now) => withState(now, "validate")),
    () => ({ result: "failed" }),
  );
}
