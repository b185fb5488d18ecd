import type { Manifest } from "../../agents/manifest/manifest.js";
import { type ChannelPort, channelPorts, freePort, objectionTo, takenPorts } from "../../agents/plan/ports.js";
import type { Observation } from "../../agents/probe/proof/observation.js";
import { Fault } from "../../errors.js";
import type { AgentRecord } from "../../state/agent.js";
import type { Agent } from "../../state/agents.js";
import type { Session } from "../session.js";
import { typedAgain } from "../typed-again.js";

interface PortContext {
  manifest: Manifest;
  /** Other agents of the host may have another type. */
  types: readonly Manifest[];
  record: AgentRecord;
  observation: Observation;
}

/** The agent's current port, or another that is free on the host. */
export function portFor(
  { argv }: Session,
  { host, name, record }: Agent,
  { manifest, types, record: draft, observation: { ports, uid } }: PortContext,
  wanted: number | "auto" | undefined,
): number {
  if (wanted === undefined || wanted === record.port) return record.port;
  const range = manifest.api.port;
  const taken = [...takenPorts(host, name, types), ...channelPorts(manifest, draft), ...ownProxy(record)];
  const question = { range, recorded: taken.map(({ port }) => port), listening: ports, uid };
  if (wanted === "auto") {
    // It keeps its port unless another process listens there.
    const port = objectionTo(record.port, question) ? freePort(question) : record.port;
    if (port !== undefined) return port;
    throw new Fault("in-use", `every port from ${range.first} to ${range.last} is taken on ${host.name}`);
  }
  const objection = objectionTo(wanted, question);
  if (!objection) return wanted;
  throw new Fault("in-use", `${objection}; nothing was changed`, { next: typedAgain(argv, "--port", "auto") });
}

/** No channel may have the port of the agent's API, its proxy or another agent. A new port must be free on the host. */
export function mustHaveOwnPorts(
  { argv }: Session,
  agent: Agent,
  { manifest, types, record, observation }: PortContext,
): void {
  const { host, name } = agent;
  const { ports: listening, uid } = observation;
  const taken = [{ agent: "its own API", port: record.port }, ...ownProxy(record), ...takenPorts(host, name, types)];
  const fresh = newPorts(agent, manifest, record).map(({ port }) => port);
  for (const { field, port } of channelPorts(manifest, record)) {
    const question = { range: manifest.api.port, recorded: [], listening, uid };
    const other = taken.find((each) => each.port === port);
    const why = other ? `${other.agent} has it on ${host.name}` : fresh.includes(port) && objectionTo(port, question);
    taken.push({ agent: `its own ${field}`, port });
    if (!why) continue;
    const range = { ...question.range, first: port + 1, last: 65_535 };
    const free = freePort({ ...question, range, recorded: taken.map((each) => each.port) });
    throw new Fault("in-use", `${field} cannot be ${port}; nothing was changed`, {
      why,
      ...(free && { next: typedAgain(withChannel(argv, agent, field), "--set", `${field}=${free}`) }),
      data: { field, port, ...(other && { taken_by: other.agent }) },
    });
  }
}

const ownProxy = ({ proxy }: AgentRecord) => (proxy ? [{ agent: "its own proxy", port: proxy.port }] : []);

/** Adds --channel for a channel that was chosen at a prompt. */
function withChannel(argv: string[], { record }: Agent, field: string): string[] {
  const [channel = ""] = field.split(".");
  const isNamed = argv.includes(channel) || Object.hasOwn(record.channels ?? {}, channel);
  return isNamed ? argv : [...argv, "--channel", channel];
}

export function newPorts({ record: before }: Agent, manifest: Manifest, record: AgentRecord): ChannelPort[] {
  const known = channelPorts(manifest, before).map(({ port }) => port);
  return channelPorts(manifest, record).filter(({ port }) => !known.includes(port));
}
