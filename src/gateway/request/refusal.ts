import type { GatewayCall } from "./gateway-call.js";

/** Why a request is refused, in OpenAI's shape. Never contains the caller's credentials. */
export class Refusal extends Error {
  readonly type: string;
  readonly param: string | null;
  /** Seconds after which the caller may try again. */
  readonly retryAfter: number | undefined;
  /** The caller, if known, for the audit log alone. */
  by?: Pick<GatewayCall, "key" | "nonce">;

  constructor(
    readonly status: number,
    /** Stable: clients and the audit log identify refusals by it. */
    readonly code: string,
    message: string,
    {
      type = typeFor(status),
      param = null,
      retryAfter,
      cause,
    }: { type?: string; param?: string | null; retryAfter?: number | undefined; cause?: unknown } = {},
  ) {
    super(message, cause === undefined ? {} : { cause });
    this.type = type;
    this.param = param;
    this.retryAfter = retryAfter;
  }

  body(): string {
    const { message, type, param, code } = this;
    return JSON.stringify({ error: { message, type, param, code } });
  }
}

export const unauthorized = (code: string, message: string): Refusal => new Refusal(401, code, message);

export const wrongModel = (status: number, code: string, message: string): Refusal =>
  new Refusal(status, code, message, { param: "model" });

export const shuttingDown = (): Refusal =>
  new Refusal(503, "shutting_down", "The gateway is being stopped.", { retryAfter: 5 });

function typeFor(status: number): string {
  if (status === 401) return "authentication_error";
  if (status === 403) return "permission_error";
  if (status === 429) return "rate_limit_error";
  return status < 500 ? "invalid_request_error" : "server_error";
}
