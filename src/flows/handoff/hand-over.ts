import type { HandoffPlan } from "../../agents/handoff/plan.js";
import { newHandoffId } from "../../agents/handoff/proof.js";
import { Fault } from "../../errors.js";
import { mayUse, requireRight } from "../../gateway/keys/rights.js";
import { type GatewayKey, stateOf } from "../../gateway/request/gateway-key.js";
import { type Agent, agentId, findAgent, hostAndName } from "../../state/agents.js";
import { findGatewayKey, gatewayKeyStore } from "../../state/gateway-keys.js";
import type { Handoff } from "../../state/handoffs.js";
import { withAgentLock } from "../agent/agent-lock.js";
import { check, flow, type Phases } from "../flow.js";
import { hideSecrets } from "../hide-secrets.js";
import type { Session } from "../session.js";
import { move } from "./move.js";
import { type CompletedHandoff, clearUp, handoffsOf } from "./open.js";
import { askedFor, type HandoffOptions, mustMove, prepare } from "./prepare.js";
import { readSource } from "./source.js";
import { mustTakeOver } from "./target.js";

export interface HandoffResult {
  plan: HandoffPlan;
  /** Absent after a dry run. */
  done: CompletedHandoff | undefined;
}

/** Both ends are checked before anything changes. After an interruption at any point, the same command resumes. */
export async function handOver(
  session: Session,
  { from: fromRef, to: toRef }: { from: string; to: string },
  options: HandoffOptions,
  tell: (plan: HandoffPlan) => void,
): Promise<HandoffResult> {
  const known = session.hosts.read();
  const [giver, meant] = [hostAndName(findAgent(known, fromRef)), findAgent(known, toRef)];
  hideSecrets(session);
  return withAgentLock(session, { host: meant.host.name, name: meant.name }, async () => {
    // Read again: another clm may have changed the target before the lock was taken.
    const fleet = session.hosts.read();
    const [from, to] = [findAgent(fleet, giver), findAgent(fleet, hostAndName(meant))];
    const key = options.as === undefined ? undefined : mustBeAllowed(session, options.as, [from, to]);
    const source = await check(session, `read the conversation of ${from.name}`, () =>
      readSource(session, from, { id: options.session, earlier: options.denyTool.length > 0 }),
    );
    const taker = await check(session, `check that ${to.name} can take it over`, () =>
      mustTakeOver(session, to, options.context),
    );
    const what = prepare(session, source, taker, options);
    tell(what.plan);
    mustMove(session, what, source, taker, options);
    const asked = askedFor(what, options);
    const before = (await clearUp(session, to)).get(asked);
    if (before) return { plan: what.plan, done: before };
    // A summary is two messages: itself and the answer to it.
    const count = (what.messages?.length ?? 0) + (what.summarise ? 2 : 0);
    const closing = options.close ? `, and close ${source.chat.id} of ${from.name}` : "";
    const action = {
      verb: "handoff",
      target: hostAndName(to),
      summary: `hand ${count} messages of ${from.name} over to ${to.name}${closing}`,
      question: `Hand ${count} messages of ${agentId(from)} over to ${agentId(to)}${closing}?`,
    };
    const handoff: Handoff = {
      id: newHandoffId(),
      from: { host: from.host.name, agent: from.name, session: source.chat.id },
      to: { host: to.host.name, agent: to.name },
      asked,
      planted: "",
      stage: "begun",
      at: session.now().toISOString(),
      ...(options.close && { close: { last: source.last } }),
      ...(key && { as: key.id }),
    };
    const phases = (each: Phases) => move(each, session, handoff, what, taker);
    const done = await flow(session, action, phases, (result) => ({ handoff: { ...result } }));
    // Only now: after a kill before the audit log has it, the next run finishes it again.
    if (done) await handoffsOf(session).drop(done.id);
    return { plan: what.plan, done };
  });
}

/** The key must be live and allowed to talk with both ends. */
function mustBeAllowed({ configDir, now }: Session, word: string, agents: readonly Agent[]): GatewayKey {
  const key = findGatewayKey(gatewayKeyStore(configDir).read(), word);
  const state = stateOf(key, now());
  if (state !== "active") throw mayNot(key, `it is ${state}`);
  try {
    requireRight(key, "talk");
  } catch {
    throw mayNot(key, `its role is ${key.role}, which may not talk with agents`);
  }
  const closed = agents.filter(({ host, name }) => !mayUse(key, { host: host.name, name }));
  if (closed.length > 0) throw mayNot(key, `it may not use ${closed.map(hostAndName).join(" and ")}`);
  return key;
}

const mayNot = ({ name, id }: GatewayKey, why: string): Fault =>
  new Fault("bad-input", `the gateway key ${name} may not hand this conversation over`, {
    why: [why, "nothing was changed"],
    next: "clm gateway key list",
    data: { key: id },
  });
