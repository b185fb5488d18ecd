import type { AgentRecord } from "../../state/agent.js";
import type { Host } from "../../state/hosts.js";
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
    const fields = Object.hasOwn(types, channel) ? (types[channel]?.fields ?? []) : [];
    const values = answered(fields, given);
    const listening = fields.filter(({ listens, name }) => listens && Object.hasOwn(values, name));
    const address = fields.find(({ binds }) => binds)?.name ?? "";
    const bind = String((Object.hasOwn(values, address) && values[address]) || "127.0.0.1");
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
