import type { Change } from "../../agents/plan/change.js";
import { Fault } from "../../errors.js";
import type { Secret } from "../../secret.js";
import { type Agent, agentId, hostAndName } from "../../state/agents.js";
import type { Session } from "../session.js";
import { withLockedAgent } from "./agent-lock.js";
import {
  isKey,
  type KeyRef,
  keyDescription,
  keyRefOf,
  mustHaveKey,
  newKey,
  nextName,
  promoteKey,
  rotateLine,
} from "./api-key.js";
import { applyChanged, isConfigured, prepareChanged } from "./apply-changed.js";
import { observe } from "./observe.js";
import { mustBeInstalled } from "./preconditions.js";
import type { Proof } from "./prove.js";
import { type Target, targetOf } from "./target.js";

export interface RotateResult {
  agent: Agent;
  /** What has the new key now, or would: the running agent, the files of one that is down, or this machine alone. */
  reached: "agent" | "files" | "nothing";
  /** A rotation that was begun earlier was finished; no other key was made. */
  resumed: boolean;
  changes: Change[];
  proofs: Proof[];
}

/**
 * Rotate-key: the agent has another key, and the old one is refused. The new key is stored beside the old one before the host
 * gets it, and replaces it when the host was seen to have it; so, killed anywhere, the same command ends with a key that
 * both sides know. What can be refused is refused before there is a new key.
 */
export function rotateKey(session: Session, ref: string): Promise<RotateResult> {
  return withLockedAgent(session, ref, async (agent) => {
    const target = await targetOf(session, hostAndName(agent));
    return withResumeHint(session, target, () => rotate(session, target));
  });
}

/** Whatever stops a rotation that was begun, the same command finishes it. */
async function withResumeHint<T>(session: Session, { agent, resolved }: Target, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const place = keyRefOf(agent, resolved.manifest);
    const begun = place && session.secrets.get(place.instance, nextName(place.name)) !== undefined;
    const line = rotateLine(agent.ref);
    if (error instanceof Fault && begun && !error.next.includes(line)) error.next.push(line);
    throw error;
  }
}

async function rotate(session: Session, target: Target): Promise<RotateResult> {
  const { secrets, ui, gate } = session;
  const { agent, resolved } = target;
  mustBeInstalled(agent);
  const place = mustHaveKey(agent, resolved.manifest);
  const begun = secrets.get(place.instance, nextName(place.name));
  const old = secrets.get(place.instance, place.name);
  for (const secret of [begun, old]) if (secret) ui.hide(secret);
  const resumed = begun !== undefined && isKey(begun);
  const next = resumed ? begun : newKey();
  ui.hide(next);
  const action = {
    verb: "agent rotate-key",
    target: hostAndName(agent),
    summary: `${resumed ? "finish changing" : "change"} the key of ${agentId(agent)}`,
  };
  const prepared = isConfigured(agent) ? await prepareChanged(session, agent, { [place.name]: next }) : undefined;
  await gate.pass(action, async () => {
    if (!resumed) await secrets.set(place.instance, nextName(place.name), next, `next ${keyDescription}`);
  });
  if (!prepared) {
    if (!gate.dryRun) await promoteKey(session, place);
    return { agent, resumed, reached: "nothing", changes: [], proofs: [] };
  }
  const { changes, proofs, record } = await applyChanged(session, prepared, action.verb);
  if (!gate.dryRun) await settle(session, target, place, { old, next, down: prepared.down });
  return { agent: { ...agent, record }, resumed, reached: prepared.down ? "files" : "agent", changes, proofs };
}

interface Keys {
  old: Secret | undefined;
  next: Secret;
  down: boolean;
}

/** The host has the new key. An agent that is down accepts none, so there is nothing to ask it. */
async function settle(session: Session, { agent, resolved }: Target, place: KeyRef, keys: Keys): Promise<void> {
  const { old, next, down } = keys;
  const other = old && old.reveal() !== "" && old.reveal() !== next.reveal() ? old : undefined;
  if (other && !down && !/[\r\n]/.test(other.reveal())) {
    const root = (await session.pool.connect(agent.host)).as("root");
    const { answers } = await observe(root, resolved, other, {}, session.signal);
    if (answers.own !== 401) throw stillAccepted(agent, answers.own);
  }
  await promoteKey(session, place);
}

function stillAccepted(agent: Agent, status = 0): Fault {
  return new Fault("check-failed", `${agentId(agent)} does not refuse its old key`, {
    why: status === 0 ? "it did not answer" : `it answered ${status}; it should be 401`,
    next: rotateLine(agent.ref),
  });
}
