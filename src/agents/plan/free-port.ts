import type { Manifest } from "../manifest/manifest.js";

export interface Listener {
  port: number;
  uid: number;
}

export interface PortQuestion {
  range: Manifest["api"]["port"];
  /** Ports of the host's agents, running or not. */
  recorded: number[];
  listening: Listener[];
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
export function freePort(question: PortQuestion): number | undefined {
  const { first, last, avoid } = question.range;
  for (let port = first; port <= last; port++) {
    if (!avoid.includes(port) && !objectionTo(port, question)) return port;
  }
  return undefined;
}
