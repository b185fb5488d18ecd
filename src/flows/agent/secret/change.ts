import type { Change } from "../../../agents/plan/change.js";
import type { Proof } from "../../../agents/probe/proof/proof.js";
import type { Secret } from "../../../secret.js";
import { type Agent, findAgent, hostAndName, recordAgent, secretOwner } from "../../../state/agents.js";
import { defined } from "../../../text/defined.js";
import { flow } from "../../flow.js";
import type { Session } from "../../session.js";
import { withAgentLock } from "../agent-lock.js";
import { withState } from "../agent-record.js";
import { applyChanged, mustBeConfigured, prepareChanged } from "../apply-changed.js";
import { mustBeInstalled } from "../preconditions.js";
import { type Target, targetOf } from "../target.js";

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

export interface SecretResult {
  agent: Agent;
  set: string[];
  forgotten: string[];
  stripped: string[];
  applied: boolean;
  /** The agent is stopped, and was not started. */
  down: boolean;
  changes: Change[];
  proofs: Proof[];
}

export async function changeSecrets(
  session: Session,
  ref: string,
  apply: boolean,
  prepare: (target: Target) => SecretChange | Promise<SecretChange>,
): Promise<SecretResult> {
  const { gate, hosts } = session;
  if (apply) {
    const agent = findAgent(hosts.read(), ref);
    mustBeInstalled(agent);
    mustBeConfigured(agent);
  }
  const target = await targetOf(session, ref);
  const id = { host: target.agent.host.name, name: target.agent.name };
  const change = await prepare(target);
  const values = await storeChanged(session, target.agent, change);
  const agentNow = () => findAgent(hosts.read(), hostAndName(target.agent));
  const put = apply
    ? await withAgentLock(session, id, async () => {
        // A dry run has stored nothing: the values come with the request.
        const prepared = await prepareChanged(session, agentNow(), gate.dryRun ? Object.fromEntries(values) : {});
        const { agent } = prepared;
        const action = {
          verb: change.verb,
          target: hostAndName(agent),
          summary: `configure ${agent.name} on ${agent.host.name}`,
        };
        const applied = await flow(session, action, (phases) => applyChanged(phases, session, prepared));
        return { ...applied, down: prepared.down };
      })
    : { down: false, changes: [], proofs: [] };
  return {
    agent: agentNow(),
    set: [...values].flatMap(([name, value]) => (value ? name : [])),
    forgotten: [...values].flatMap(([name, value]) => (value ? [] : name)),
    stripped: change.stripped ?? [],
    applied: apply && !gate.dryRun,
    down: put.down,
    changes: put.changes,
    proofs: put.proofs,
  };
}

/** Returns the values that differ. The agent goes back to validate first: the host has the old ones. */
async function storeChanged(session: Session, agent: Agent, change: SecretChange): Promise<Values> {
  const { secrets, hosts, gate } = session;
  const owner = secretOwner(agent);
  const id = { host: agent.host.name, name: agent.name };
  const { verb, summary, question } = change;
  const changed = [...change.values].filter(([name, value]) => secrets.get(owner, name)?.reveal() !== value?.reveal());
  if (changed.length === 0) return new Map();
  await withAgentLock(session, id, () =>
    gate.pass({ verb, target: hostAndName(agent), summary, ...defined({ question }) }, async () => {
      await recordAgent(hosts, id, (record) => record && withState(record, "validate"));
      for (const [name, value] of changed) {
        if (value) await secrets.set(owner, name, value, "set with clm agent secret");
        else await secrets.unset(owner, name);
      }
    }),
  );
  return new Map(changed);
}
