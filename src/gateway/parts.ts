import type { IncomingHttpHeaders } from "node:http";
import type { Call, Ending, Tokens } from "./call.js";
import type { Directory } from "./directory.js";
import type { GatewayKey } from "./keys/key.js";
import type { Right } from "./keys/rights.js";
import type { Road } from "./road/road.js";

/** What a key's allowance is asked for before anything is sent. */
export interface AskedFor {
  /** `host/agent`, or `host/agent/proxy`. */
  target: string;
  /** The type of the provider that answers for it, and the model that it runs: they have the price. */
  provider?: string | undefined;
  model: string;
  /** Tokens, by the length of what is said. */
  input: number;
  /** Tokens, when the caller set a limit. */
  output?: number | undefined;
}

/** Exactly one of both is called; later calls do nothing. */
export interface Reservation {
  settle(tokens: Tokens): { usd?: number };
  release(): void;
}

export interface SignedRequest {
  method: string;
  /** Path and query, as they were sent. */
  url: string;
  headers: IncomingHttpHeaders;
  body: Buffer;
}

/** Where an answer comes from: an agent, or the proxy beside it. */
export interface Place {
  host: string;
  name: string;
  proxy: boolean;
}

/** Everything the server works with. Each part throws a Refusal for what it does not let pass. */
export interface Parts {
  keyring: { whose(bearer: string | undefined): GatewayKey };
  signed(request: SignedRequest): Promise<{ key: GatewayKey; nonce: string }>;
  mustMay(key: GatewayKey, right: Right): void;
  mayUse(key: GatewayKey, agent: { host: string; name: string }): boolean;
  allowance: { reserve(key: GatewayKey, asked: AskedFor, signal: AbortSignal): Promise<Reservation> };
  log: { mustBeWritable(): void; write(call: Call, ending: Ending): Promise<void> };
  metrics: { began(call: Call): void; ended(call: Call, ending: Ending): void; render(): string };
  /** The agents as they are recorded now. Nothing is awaited when that is known. */
  fleet(): Directory | Promise<Directory>;
  road(place: Place): Road;
  /** What must not show, taken out of a text. */
  redact(text: string): string;
  /** Told of what nobody expected. */
  trouble(error: unknown): void;
}
