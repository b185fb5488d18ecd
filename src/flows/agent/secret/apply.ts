import { type Agent, findAgent } from "../../../state/agents.js";
import type { Session } from "../../session.js";
import { alone } from "../alone.js";
import { mustBeInstalled } from "../gates.js";
import { mustBeConfigured, putOnHost } from "../put-on-host.js";
import type { Stored } from "./store.js";

export type Applied = Stored & {
  /** The host has it. */
  applied: boolean;
  /** The agent does not run, and was not started. */
  down: boolean;
};

/** Changes an agent's secrets and, when that is wished, puts them on the host at once. */
export async function storeAndApply(
  session: Session,
  word: string,
  change: () => Promise<Stored>,
  { apply, verb }: { apply: boolean; verb: string },
): Promise<Applied> {
  const agent: Agent = findAgent(session.hosts.read(), word);
  if (apply) {
    mustBeInstalled(agent);
    mustBeConfigured(agent);
  }
  const stored = await change();
  if (!apply || session.gate.dryRun) return { ...stored, applied: false, down: false };
  const { host, name } = agent;
  const { down } = await alone(session, { host: host.name, name }, () =>
    putOnHost(session, `${host.name}/${name}`, verb),
  );
  return { ...stored, applied: true, down };
}
