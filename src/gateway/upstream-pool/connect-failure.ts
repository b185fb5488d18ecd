import { asFault, type Fault, type FaultName } from "../../errors.js";
import { Refusal, shuttingDown } from "../request/refusal.js";

export interface ConnectFailure {
  refusal: Refusal;
  /** It affects every agent of the host. */
  hostWide: boolean;
  /** The host was reached and reported the failure itself. */
  hostAnswered: boolean;
}

const hostCodes: Partial<Record<FaultName, string>> = {
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

/** By the result of the port-ownership check. */
const portCodes: Record<string, string> = {
  stopped: "agent_stopped",
  silent: "agent_not_listening",
  gone: "agent_gone",
};

/** Seconds. */
const soon = 1;
const later = 5;

export function connectFailure(error: unknown): ConnectFailure {
  if (error instanceof Refusal) {
    return { refusal: error, hostWide: error.code === "host_unreachable", hostAnswered: false };
  }
  const fault = asFault(error);
  if (fault.fault === "interrupted") return { refusal: shuttingDown(), hostWide: false, hostAnswered: false };
  const host = hostCodes[fault.fault];
  const port = fault.data.listeners ? "agent_not_its_own" : portCodes[String(fault.data.door)];
  const code = host ?? port ?? (fault.fault === "remote-failed" ? "agent_not_listening" : "agent_not_ready");
  const retryAfter = code === "host_unreachable" || code === "agent_not_listening" ? soon : later;
  const refusal = new Refusal(503, code, textOf(fault), { retryAfter });
  return { refusal, hostWide: host !== undefined, hostAnswered: host === undefined && port !== undefined };
}

/** The message of an unexpected error may contain anything, so callers do not see it. */
const textOf = ({ fault, message, why }: Fault): string =>
  fault === "bug" ? "The agent cannot be reached." : [message, ...why.slice(0, 1)].join(": ");
