import type { Secret } from "../../../secret.js";
import { type Agent, findAgent, hostAndName, secretOwner } from "../../../state/agents.js";
import { defined } from "../../../text/defined.js";
import { flow } from "../../flow.js";
import type { Session } from "../../session.js";
import { withLockedAgent } from "../agent-lock.js";
import { changeRecord, withState } from "../agent-record.js";
import type { AgentResult } from "../apply.js";
import { applyChanged, prepareChanged } from "../apply-changed.js";
import { mustBeConfigured, mustBeInstalled } from "../preconditions.js";
import { type AgentTarget, targetOf } from "../target.js";

/** Values by name; undefined removes a secret. */
type Values = Map<string, Secret | undefined>;

export interface SecretChange {
  verb: string;
  /** Completes "would …". */
  summary: string;
  question?: string;
  values: Values;
  /** Names that the agent removes from the environment of its commands. */
  stripped?: string[];
}

export interface SecretResult extends AgentResult {
  set: string[];
  forgotten: string[];
  stripped: string[];
  applied: boolean;
  /** The agent is stopped, and was not started. */
  down: boolean;
}

export async function changeSecrets(
  session: Session,
  ref: string,
  apply: boolean,
  prepare: (target: AgentTarget) => SecretChange | Promise<SecretChange>,
): Promise<SecretResult> {
  const { gate, hosts } = session;
  if (apply) {
    const agent = findAgent(hosts.read(), ref);
    mustBeInstalled(agent);
    mustBeConfigured(agent);
  }
  const target = await targetOf(session, ref);
  const change = await prepare(target);
  const full = hostAndName(target.agent);
  const values = await storeChanged(session, full, change);
  const applied = apply
    ? await withLockedAgent(session, full, (agent) => applyStored(session, agent, change.verb, values))
    : { down: false, changes: [], proofs: [] };
  return {
    agent: findAgent(hosts.read(), full),
    set: [...values].flatMap(([name, value]) => (value ? name : [])),
    forgotten: [...values].flatMap(([name, value]) => (value ? [] : name)),
    stripped: change.stripped ?? [],
    applied: apply && !gate.dryRun,
    ...applied,
  };
}

async function applyStored(
  session: Session,
  agent: Agent,
  verb: string,
  values: Values,
): Promise<Pick<SecretResult, "down" | "changes" | "proofs">> {
  // A dry run has stored nothing: the values come with the request.
  const prepared = await prepareChanged(session, agent, session.gate.dryRun ? Object.fromEntries(values) : {});
  const action = { verb, target: hostAndName(agent), summary: `configure ${agent.name} on ${agent.host.name}` };
  const { changes, proofs } = await flow(session, action, (phases) => applyChanged(phases, session, prepared));
  return { down: prepared.down, changes, proofs };
}

/** Returns the values that differ. The agent goes back to validate first: the host has the old ones. */
async function storeChanged(session: Session, ref: string, change: SecretChange): Promise<Values> {
  const { secrets, gate } = session;
  const { verb, summary, question } = change;
  const owner = secretOwner(findAgent(session.hosts.read(), ref));
  const changed = [...change.values].filter(([name, value]) => secrets.get(owner, name)?.reveal() !== value?.reveal());
  if (changed.length === 0) return new Map();
  await withLockedAgent(session, ref, (agent) =>
    gate.pass({ verb, target: ref, summary, ...defined({ question }) }, async () => {
      await changeRecord(session, agent, (now) => withState(now, "validate"));
      for (const [name, value] of changed) {
        if (value) await secrets.set(owner, name, value, "set with clm agent secret");
        else await secrets.unset(owner, name);
      }
    }),
  );
  return new Map(changed);
}
