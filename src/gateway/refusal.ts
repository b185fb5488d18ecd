import type { GatewayCall } from "./gateway-call.js";

/** Why a request is not answered, in the shape that clients of OpenAI understand. Never holds what the caller sent as a credential. */
export class Refusal extends Error {
  readonly type: string;
  readonly param: string | null;
  /** Seconds after which it may be worth to ask again. */
  readonly retryAfter: number | undefined;
  /** Who was refused, where that is certain all the same. For the audit log: the caller is told nothing of it. */
  by?: Pick<GatewayCall, "key" | "nonce">;

  constructor(
    readonly status: number,
    /** Stable; clients and the audit log tell refusals apart by it. */
    readonly code: string,
    message: string,
    {
      type = typeFor(status),
      param = null,
      retryAfter,
      cause,
    }: { type?: string; param?: string | null; retryAfter?: number; cause?: unknown } = {},
  ) {
    super(message, cause === undefined ? {} : { cause });
    this.type = type;
    this.param = param;
    this.retryAfter = retryAfter;
  }

  /** The body that OpenAI would send. */
  body(): string {
    const { message, type, param, code } = this;
    return JSON.stringify({ error: { message, type, param, code } });
  }
}

export const shuttingDown = (): Refusal =>
  new Refusal(503, "shutting_down", "The gateway is being stopped.", { retryAfter: 5 });

function typeFor(status: number): string {
  if (status === 401) return "authentication_error";
  if (status === 403) return "permission_error";
  if (status === 429) return "rate_limit_error";
  return status < 500 ? "invalid_request_error" : "server_error";
}
