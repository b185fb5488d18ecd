import type { GatewayKey } from "./keys/key.js";
import type { SessionReach } from "./session-scope.js";

export interface Tokens {
  input: number;
  output: number;
  /** The agent did not tell; counted from the length of what was said. */
  estimated?: true;
  /** What the agent claimed, where no agent can have used that much: `input` and `output` are the most that is possible. */
  claimed?: { input: number; output: number };
}

/** One request, from the moment somebody asked until its line is in the audit log. */
export interface GatewayCall {
  /** Ours, told to the caller as `x-request-id`. */
  id: string;
  /** Milliseconds since 1970. */
  at: number;
  method: string;
  /** Without its query. */
  path: string;
  /** The address it came from. */
  from: string;
  /** Who asked, once that is known. */
  key?: GatewayKey;
  /** `host/agent`, or `host/agent/proxy`, once that is known. */
  target?: string;
  /** As it was asked for. */
  model?: string;
  /** Of a signed request. */
  nonce?: string;
  streamed?: true;
  /** How far the sessions of the key reach, where that is more than its own. */
  sessions?: SessionReach;
}

/** How it ended. */
export interface CallOutcome {
  status: number;
  /** A refusal's or an upstream error's code; `client_gone` when nobody waited for the end. */
  code?: string;
  tokens?: Tokens;
  usd?: number;
  /** Milliseconds until the first byte of the answer's body, and until its last. */
  first?: number;
  took: number;
  /** Only with --log-bodies. */
  bodies?: { asked: string; answered: string };
}
