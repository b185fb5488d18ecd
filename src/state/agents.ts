import { Fault } from "../errors.js";
import { nearest } from "../nearest.js";
import { own } from "../own.js";
import type { AgentRecord } from "./agent.js";
import type { Fleet, Host } from "./hosts.js";
import type { Instance } from "./instance-key.js";
import type { Store } from "./store.js";

/** An agent with the host it lives on. */
export interface Agent {
  name: string;
  host: Host;
  record: AgentRecord;
  /** How it is typed: with its host, when the name alone would mean several. */
  word: string;
}

/** Every agent of the fleet. */
export const agentsOf = (fleet: Fleet): Agent[] =>
  fleet.hosts.flatMap((host) =>
    Object.entries(host.agents).map(([name, record]) => ({
      name,
      host,
      record,
      word: wordFor(fleet, host.name, name),
    })),
  );

/** How an agent is typed, or will be: with its host, when another host has one of that name. */
export function wordFor({ hosts }: Fleet, host: string, name: string): string {
  const another = hosts.some((each) => each.name !== host && Object.hasOwn(each.agents, name));
  return another ? `${host}/${name}` : name;
}

/** Whose secrets an agent's are: `wolf-i:hermes:hermes-test`. */
export const instanceOf = ({ name, host, record }: Agent): Extract<Instance, { host: string }> => ({
  host: host.name,
  type: record.type,
  agent: name,
});

/** How an agent is told from all others, to people: `wolf-i:hermes:hermes-test`. */
export const titleOf = (agent: Agent): string => `${agent.host.name}:${agent.record.type}:${agent.name}`;

/** `HOST/NAME`: what an agent is called where its name alone may mean another. */
export const fullName = ({ host, name }: Pick<Agent, "host" | "name">): string => `${host.name}/${name}`;

/** The agent called `name` or `host/name`, or a fault that offers the one that was probably meant. */
export function findAgent(fleet: Fleet, word: string): Agent {
  const agents = agentsOf(fleet);
  const found = agents.filter((agent) => agent.name === word || fullName(agent) === word);
  const [first] = found;
  if (!first) throw noAgent(agents, word);
  if (found.length > 1) {
    const full = found.map(fullName);
    throw new Fault("usage", `${found.length} agents are called ${word}`, {
      why: `say which: ${full.join(", ")}`,
      data: { agents: full },
    });
  }
  return first;
}

/** Could be a name or a pattern of names. Anything else may be a secret that was typed in the wrong place, and is not repeated. */
export const isSpeakable = (word: string): boolean =>
  word.length <= 100 && /^[\w.*?/-]*$/.test(word) && !/(clm_|sk-)/.test(word);

function noAgent(agents: Agent[], word: string): Fault {
  const guess = nearest(
    word,
    agents.map(({ name }) => name),
  );
  return new Fault("not-found", isSpeakable(word) ? `no agent is called '${word}'` : "no agent has such a name", {
    why: agents.length === 0 ? "no agent has been installed yet" : guess ? `did you mean '${guess}'?` : [],
    next: agents.length === 0 ? "clm agent install --help" : "clm agent list",
    data: guess ? { guess } : {},
  });
}

/**
 * Changes one agent's record and leaves the rest of the fleet alone. `change` sees the record as it is in the file now;
 * nothing when there is none. Returning nothing takes the record away.
 */
export async function recordAgent(
  hosts: Store<Fleet>,
  { host, name }: { host: string; name: string },
  change: (record: AgentRecord | undefined) => AgentRecord | undefined,
): Promise<AgentRecord | undefined> {
  let now: AgentRecord | undefined;
  await hosts.update((fleet) => {
    const at = fleet.hosts.find((each) => each.name === host);
    if (!at) throw new Fault("not-found", `no host is called '${host}' any more`, { next: "clm host list" });
    now = change(own(at.agents, name));
    const { [name]: _, ...others } = at.agents;
    const agents = now ? { ...others, [name]: now } : others;
    return { ...fleet, hosts: fleet.hosts.map((each) => (each === at ? { ...at, agents } : each)) };
  });
  return now;
}
