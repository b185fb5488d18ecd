import { Fault } from "../errors.js";
import type { AgentName, AgentRef } from "../names.js";
import { hasToken } from "../secret-shapes.js";
import { didYouMean } from "../text/nearest.js";
import { own } from "../text/own-property.js";
import type { AgentRecord } from "./agent.js";
import type { Fleet, Host } from "./hosts.js";
import type { SecretOwner } from "./secret-owner.js";
import type { Store } from "./store.js";

export interface Agent {
  name: AgentName;
  host: Host;
  record: AgentRecord;
  /** How a user refers to it: the name, or `host/name` where the name is ambiguous. */
  ref: string;
}

export const agentsOf = (fleet: Fleet): Agent[] =>
  fleet.hosts.flatMap((host) =>
    Object.entries(host.agents).map(([name, record]) => ({
      name: name as AgentName,
      host,
      record,
      ref: refFor(fleet, host.name, name),
    })),
  );

/** The shortest unambiguous reference: `name`, or `host/name` when another host has an agent of that name. */
export function refFor({ hosts }: Fleet, host: string, name: string): string {
  const another = hosts.some((each) => each.name !== host && Object.hasOwn(each.agents, name));
  return another ? `${host}/${name}` : name;
}

export const secretOwner = ({ name, host, record }: Agent): Extract<SecretOwner, { host: string }> => ({
  host: host.name,
  type: record.type,
  agent: name,
});

/** `HOST:TYPE:NAME`: unique in the fleet. */
export const agentId = (agent: Agent): string => `${agent.host.name}:${agent.record.type}:${agent.name}`;

export const hostAndName = ({ host, name }: Pick<Agent, "host" | "name">): AgentRef =>
  `${host.name}/${name}` as AgentRef;

/** The agent called `name` or `host/name`; otherwise a fault that suggests the nearest name. */
export function findAgent(fleet: Fleet, word: string): Agent {
  const agents = agentsOf(fleet);
  const found = agents.filter((agent) => agent.name === word || hostAndName(agent) === word);
  const [first] = found;
  if (!first) throw noAgent(agents, word);
  if (found.length > 1) {
    const full = found.map(hostAndName);
    throw new Fault("usage", `${found.length} agents are called ${word}`, {
      why: `say which: ${full.join(", ")}`,
      data: { agents: full },
    });
  }
  return first;
}

/** Safe to repeat in a message: anything that cannot be a name may be a secret typed in the wrong place. */
export const isSpeakable = (word: string): boolean =>
  word.length <= 100 && /^[\w.*?/-]*$/.test(word) && !/(clm_|sk-)/.test(word) && !hasToken(word);

function noAgent(agents: Agent[], word: string): Fault {
  const names = agents.map(({ name }) => name);
  const none = names.length === 0;
  return new Fault("not-found", isSpeakable(word) ? `no agent is called '${word}'` : "no agent has such a name", {
    ...didYouMean(word, names, none ? "no agent has been installed yet" : []),
    next: none ? "clm agent install --help" : "clm agent list",
  });
}

/** Changes one record. `change` gets the file's current record or undefined; returning undefined removes the record. */
export async function recordAgent(
  hosts: Store<Fleet>,
  { host, name }: { host: string; name: string },
  change: (record: AgentRecord | undefined) => AgentRecord | undefined,
): Promise<AgentRecord | undefined> {
  let now: AgentRecord | undefined;
  await hosts.update((fleet) => {
    const at = fleet.hosts.find((each) => each.name === host);
    if (!at) throw new Fault("not-found", `the host '${host}' no longer exists`, { next: "clm host list" });
    now = change(own(at.agents, name));
    const { [name]: _, ...others } = at.agents;
    const agents = now ? { ...others, [name]: now } : others;
    return { ...fleet, hosts: fleet.hosts.map((each) => (each === at ? { ...at, agents } : each)) };
  });
  return now;
}
