import type { AgentRecord } from "../../state/agent.js";
import type { Host } from "../../state/hosts.js";
import { own } from "../../text/own-property.js";
import { answered } from "../manifest/fields.js";
import type { Manifest } from "../manifest/manifest.js";

export interface ChannelPort {
  /** As in flags: `webhook.port`. */
  field: string;
  port: number;
  channel: string;
  bind: string;
}

/** From answers or defaults. */
export function channelPorts({ channels: types }: Manifest, record: AgentRecord): ChannelPort[] {
  return Object.entries(record.channels ?? {}).flatMap(([channel, given]) => {
    const fields = own(types, channel)?.fields ?? [];
    const values = answered(fields, given);
    const listening = fields.filter(({ listens, name }) => listens && Object.hasOwn(values, name));
    const address = fields.find(({ binds }) => binds)?.name ?? "";
    const bind = String(own(values, address) || "127.0.0.1");
    return listening.map(({ name }) => ({ field: `${channel}.${name}`, port: Number(values[name]), channel, bind }));
  });
}

/** Every port an agent listens on when it runs. */
export const portsOf = (manifest: Manifest, record: AgentRecord): number[] =>
  [record, ...channelPorts(manifest, record), ...(record.proxy ? [record.proxy] : [])].map(({ port }) => port);

/** The ports of a host's other agents, running or not. `types` are the manifests of all types. */
export function takenPorts(
  { agents }: Host,
  name: string,
  types: readonly Manifest[],
): { agent: string; port: number }[] {
  return Object.entries(agents)
    .filter(([other]) => other !== name)
    .flatMap(([agent, record]) => {
      const manifest = types.find(({ type }) => type === record.type);
      return (manifest ? portsOf(manifest, record) : [record.port]).map((port) => ({ agent, port }));
    });
}

export interface ListeningPort {
  port: number;
  uid: number;
}

export interface PortQuestion {
  range: Manifest["api"]["port"];
  /** Ports of the host's agents, running or not. */
  recorded: number[];
  listening: ListeningPort[];
  /** The agent's own user id, whose listeners do not count. */
  uid?: number | undefined;
}

/** Why a port cannot be used; undefined when it can. */
export function objectionTo(port: number, { recorded, listening, uid }: PortQuestion): string | undefined {
  if (port < 1024) return `port ${port} is reserved for root`;
  if (recorded.includes(port)) return `port ${port} belongs to an agent on this host`;
  const other = listening.find((each) => each.port === port && each.uid !== uid);
  if (other) return `a process of ${other.uid === 0 ? "root" : `user id ${other.uid}`} listens on port ${port}`;
  return undefined;
}

/** Undefined when all ports of the range are taken. */
export const freePort = (question: PortQuestion): number | undefined =>
  firstPort(question.range, (port) => !question.range.avoid.includes(port) && !objectionTo(port, question));

/** The first free port of a range; undefined when there is none. */
export function firstPort(
  { first, last }: { first: number; last: number },
  isFree: (port: number) => boolean,
): number | undefined {
  for (let port = first; port <= last; port++) if (isFree(port)) return port;
  return undefined;
}
