import type { IncomingHttpHeaders } from "node:http";
import type { Allowance } from "./allowance/allowance.js";
import type { InFlightCall } from "./audit/in-flight.js";
import type { Directory } from "./directory.js";
import type { CallOutcome, GatewayCall } from "./gateway-call.js";
import type { GatewayKey } from "./keys/key.js";
import type { Keyring } from "./keys/keyring.js";
import type { Right, Usable } from "./keys/rights.js";
import type { Metrics } from "./metrics.js";
import type { UpstreamPool } from "./upstream-pool/upstream-pool.js";

export interface SignedRequest {
  method: string;
  /** Path and query, as they were sent. */
  url: string;
  headers: IncomingHttpHeaders;
  body: Buffer;
}

/** Where an answer comes from: an agent, or the proxy beside it. */
export interface UpstreamTarget {
  host: string;
  name: string;
  proxy: boolean;
  /** As its agent's. */
  mark?: string | undefined;
}

/** Everything the server works with. Each part throws a Refusal for what it does not let pass. */
export interface GatewayParts {
  keyring: Pick<Keyring, "whose" | "mustStillOpen">;
  /** The names that a key has for sessions; nothing when it has the agents' own. */
  scopeOf: Keyring["scopeOf"];
  /** Refuses what no key of ours can have signed, before its body is read. */
  mustBeSignable(headers: IncomingHttpHeaders): void;
  signed(request: SignedRequest): Promise<{ key: GatewayKey; nonce: string }>;
  mustMay(key: GatewayKey, right: Right): void;
  mayUse(key: GatewayKey, agent: Usable): boolean;
  allowance: Allowance;
  log: {
    mustBeWritable(): void;
    /** It is about to be sent on: from here on it leaves a line, whatever becomes of the gateway. */
    sent(sent: InFlightCall): void;
    write(call: GatewayCall, ending: CallOutcome): Promise<void>;
  };
  metrics: Metrics;
  /** The agents as they are recorded now. Nothing is awaited when that is known. */
  fleet(): Directory | Promise<Directory>;
  upstreamPool(place: UpstreamTarget): UpstreamPool;
  /** Milliseconds between signs of life to who waits for the stream of an agent that does not stream. */
  keepalive?: number;
  /** What must not show, taken out of a text. */
  redact(text: string): string;
  /** Told of what nobody expected, and of refusals that have a cause here, once for as long as that goes on. */
  trouble(error: unknown): void;
}
