import { keyless } from "../keys/mint.js";
import type { CallOutcome, GatewayCall } from "../request/gateway-call.js";

/** One line of the gateway's audit log: a request and how it ended. */
export interface RequestLine extends Omit<GatewayCall, "at" | "key">, Omit<CallOutcome, "first" | "took"> {
  seq: number;
  /** When the request came. Lines are in the order in which requests ended. */
  at: string;
  key?: { id: string; name: string };
  ms: number;
  first_ms?: number;
  /** Bytes of an unfinished line, left by a killed gateway, that were cut before this line was written. */
  cut_bytes?: number;
  /** Refused requests since the line before without a line: it could not be written, or too many came without a key. */
  unwritten?: number;
  /** `audit.head` was missing or unreadable when this was written: lines before it may be missing. */
  head_lost?: true;
  hash: string;
}

/** A line before it is sealed in the chain. */
export type OpenLine = Omit<RequestLine, "seq" | "hash">;
const maxText = 200;

/**
 * The line of a call. No field is meant for a secret: no headers, no query, no error text. Bodies are present only with --log-bodies,
 * and known secrets were removed from them; here only gateway keys are recognised, by their shape.
 */
export function requestLine(call: GatewayCall, ending: CallOutcome): OpenLine {
  const { id, at, key, from, method, path, target, model, nonce, streamed, sessions } = call;
  const { status, code, tokens, usd, first, took, bodies } = ending;
  return {
    at: new Date(at).toISOString(),
    id,
    ...(key && { key: { id: key.id, name: key.name } }),
    from,
    method: typed(method),
    path: typed(path),
    ...(target !== undefined && { target }),
    ...(model !== undefined && { model: typed(model) }),
    status,
    ...(code !== undefined && { code: typed(code) }),
    ...(tokens && { tokens }),
    ...(usd !== undefined && { usd }),
    ms: rounded(took),
    ...(first !== undefined && { first_ms: rounded(first) }),
    ...(nonce !== undefined && { nonce: typed(nonce) }),
    ...(streamed && { streamed }),
    ...(sessions !== undefined && { sessions }),
    ...(bodies && { bodies: { asked: keyless(bodies.asked), answered: keyless(bodies.answered) } }),
  };
}

/** A text that a caller chose: cut, and without gateway keys. */
const typed = (text: string): string => keyless(text.slice(0, 2 * maxText)).slice(0, maxText);
const rounded = (milliseconds: number): number => Math.round(milliseconds * 100) / 100;
