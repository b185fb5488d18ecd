import { asFault, type Fault, type FaultName } from "../../errors.js";
import { Refusal, shuttingDown } from "../refusal.js";

/** Why there is no road, for the caller, and whether that goes for all agents of the host. */
export interface NoRoad {
  refusal: Refusal;
  ofHost: boolean;
  /** The host was there, and said what is wrong. */
  answered: boolean;
}

const ofHosts: Partial<Record<FaultName, string>> = {
  unreachable: "host_unreachable",
  "connection-lost": "host_unreachable",
  "remote-timeout": "host_unreachable",
  "auth-refused": "host_refused_login",
  "host-key-unknown": "host_not_trusted",
  "host-key-changed": "host_not_trusted",
  "host-key-revoked": "host_not_trusted",
  "sudo-refused": "host_refused_root",
  unsupported: "host_forwards_nothing",
};

/** By what a look at the agent's door found. */
const ofDoors: Record<string, string> = {
  stopped: "agent_stopped",
  silent: "agent_not_listening",
  gone: "agent_gone",
};

/** Seconds. */
const soon = 1;
const later = 5;

export function noRoad(error: unknown): NoRoad {
  if (error instanceof Refusal) return { refusal: error, ofHost: error.code === "host_unreachable", answered: false };
  const fault = asFault(error);
  if (fault.fault === "interrupted") return { refusal: shuttingDown(), ofHost: false, answered: false };
  const host = ofHosts[fault.fault];
  const door = fault.data.listeners ? "agent_not_its_own" : ofDoors[String(fault.data.door)];
  const code = host ?? door ?? (fault.fault === "remote-failed" ? "agent_not_listening" : "agent_not_ready");
  const retryAfter = code === "host_unreachable" || code === "agent_not_listening" ? soon : later;
  const refusal = new Refusal(503, code, textOf(fault), { retryAfter });
  return { refusal, ofHost: host !== undefined, answered: host === undefined && door !== undefined };
}

/** What nobody expected may say anything. */
const textOf = ({ fault, message, why }: Fault): string =>
  fault === "bug" ? "The agent cannot be reached." : [message, ...why.slice(0, 1)].join(": ");
