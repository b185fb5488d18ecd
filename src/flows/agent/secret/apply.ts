import type { Change } from "../../../agents/plan/change.js";
import { type Agent, findAgent } from "../../../state/agents.js";
import type { Session } from "../../session.js";
import { withAgentLock } from "../agent-lock.js";
import { applyChanged, mustBeConfigured, prepareChanged } from "../apply-changed.js";
import { mustBeInstalled } from "../preconditions.js";
import type { Proof } from "../prove.js";
import type { Stored } from "./store.js";

export interface Applied {
  agent: Agent;
  /** Names that have another value now. */
  set: string[];
  forgotten: string[];
  /** Names that were given and that the agent's own commands never get. */
  stripped: string[];
  /** The host has it. */
  applied: boolean;
  /** The agent does not run, and was not started. */
  down: boolean;
  /** What that changed on the host, or would. */
  changes: Change[];
  proofs: Proof[];
}

/** Changes an agent's secrets and, when that is wished, puts them on the host at once. */
export async function storeAndApply(
  session: Session,
  word: string,
  change: () => Promise<Stored>,
  { apply, verb }: { apply: boolean; verb: string },
): Promise<Applied> {
  const { gate, hosts } = session;
  const agent = findAgent(hosts.read(), word);
  if (apply) {
    mustBeInstalled(agent);
    mustBeConfigured(agent);
  }
  const { host, name } = agent;
  const full = `${host.name}/${name}`;
  const { values, stripped = [] } = await change();
  const names = (isSet: boolean) =>
    [...values].flatMap(([key, value]) => ((value !== undefined) === isSet ? [key] : []));
  const put = apply
    ? await withAgentLock(session, { host: host.name, name }, async () => {
        // A dry run has stored nothing: the values come with the request.
        const secrets = gate.dryRun ? Object.fromEntries(values) : {};
        const prepared = await prepareChanged(session, findAgent(hosts.read(), full), secrets);
        return { ...(await applyChanged(session, prepared, verb)), down: prepared.down };
      })
    : { down: false, changes: [], proofs: [] };
  return {
    agent: findAgent(hosts.read(), full),
    set: names(true),
    forgotten: names(false),
    stripped,
    applied: apply && !gate.dryRun,
    down: put.down,
    changes: put.changes,
    proofs: put.proofs,
  };
}
