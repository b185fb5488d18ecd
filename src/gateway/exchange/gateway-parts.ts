import type { IncomingHttpHeaders } from "node:http";
import type { Allowance } from "../allowance/allowance.js";
import type { RequestLog } from "../audit/log.js";
import type { Keyring } from "../keys/keyring.js";
import type { CallOutcome, GatewayCall } from "../request/gateway-call.js";
import type { GatewayKey } from "../request/gateway-key.js";
import type { SignedRequest } from "../signing/verify.js";
import type { UpstreamPool } from "../upstream-pool/upstream-pool.js";
import type { UpstreamTarget } from "../upstream-pool/upstream-pools.js";
import type { Directory } from "./directory.js";
import type { Metrics } from "./metrics.js";

/** What the server works with. Each part throws a Refusal for a request that it does not let pass. */
export interface GatewayParts {
  keyring: Pick<Keyring, "whose" | "mustStillOpen" | "scopeOf">;
  /** Refuses a request that no key can have signed, before its body is read. */
  mustBeSignable(headers: IncomingHttpHeaders): void;
  signed(request: SignedRequest): Promise<{ key: GatewayKey; nonce: string }>;
  allowance: Pick<Allowance, "count" | "reserve">;
  log: Pick<RequestLog, "mustBeWritable" | "sent"> & { write(call: GatewayCall, ending: CallOutcome): Promise<void> };
  metrics: Pick<Metrics, "began" | "ended" | "render">;
  fleet(): Directory | Promise<Directory>;
  upstreamPool(target: UpstreamTarget): UpstreamPool;
  /** Milliseconds between keep-alive comments in the stream of an agent that does not stream. */
  keepalive?: number;
  redact(text: string): string;
  /** Reports unexpected errors, and refusals that are the gateway's own fault. */
  trouble(error: unknown): void;
}
