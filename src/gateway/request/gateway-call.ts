import type { GatewayKey } from "./gateway-key.js";
import type { SessionReach } from "./session-scope.js";

export interface Tokens {
  input: number;
  output: number;
  /** Not reported by the agent, but estimated by length. */
  estimated?: true;
  /** What the agent reported, where that is impossible: `input` and `output` are the possible maximum. */
  claimed?: { input: number; output: number };
}

export interface GatewayCall {
  /** The `x-request-id` of the answer. */
  id: string;
  /** Milliseconds since 1970. */
  at: number;
  method: string;
  /** Without its query. */
  path: string;
  from: string;
  key?: GatewayKey;
  /** `host/agent`, or `host/agent/proxy`, once it is known. */
  target?: string | undefined;
  /** As the caller asked for it. */
  model?: string;
  /** Of a signed request. */
  nonce?: string;
  streamed?: true;
  /** Whose sessions the key may use, when not only its own. */
  sessions?: SessionReach;
}

export interface CallOutcome {
  status: number;
  /** Of a refusal or an upstream error; `client_gone` when the caller left before the end. */
  code?: string | undefined;
  tokens?: Tokens | undefined;
  usd?: number | undefined;
  /** Milliseconds until the first byte of the answer's body, and until its last. */
  first?: number | undefined;
  took: number;
  /** Only with --log-bodies. */
  bodies?: { asked: string; answered: string } | undefined;
}
