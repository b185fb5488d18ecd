import type { CallOutcome, GatewayCall, Tokens } from "../gateway-call.js";
import { keyless } from "../keys/mint.js";

/** One line of the gateway's audit log: a request and how it ended. */
export interface RequestLine {
  seq: number;
  /** When it was asked. Lines are in the order in which the requests ended. */
  at: string;
  id: string;
  key?: { id: string; name: string };
  from: string;
  method: string;
  path: string;
  target?: string;
  model?: string;
  status: number;
  code?: string;
  tokens?: Tokens;
  usd?: number;
  ms: number;
  first_ms?: number;
  nonce?: string;
  streamed?: true;
  /** `all` or `group:NAME`, of a key whose sessions are not its own alone. */
  sessions?: string;
  bodies?: { asked: string; answered: string };
  /** Bytes of an unfinished line that were cut before this one was written: its writer was killed. */
  cut_bytes?: number;
  /** Requests since the line before that have none, all of them refused: it could not be written, or too many came without a key. */
  unwritten?: number;
  /** `audit.head` was missing or unreadable when this was written: what was cut off before it cannot be known. */
  head_lost?: true;
  hash: string;
}

/** A line before it has its place in the chain. */
export type OpenLine = Omit<RequestLine, "seq" | "hash">;

const longestWord = 200;

/**
 * What is written down of a call. There is no field that a secret belongs in: no headers, no query, no text of an error. Bodies
 * are given only when somebody wants them kept, and whoever gives them has taken the secrets he knows out of them: here nobody
 * knows any, only what a key of the gateway looks like.
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
    ...(bodies && {
      bodies: { asked: keyless(bodies.asked), answered: keyless(bodies.answered) },
    }),
  };
}

/** What somebody else chose the words of: short, and never a key of ours. */
const typed = (text: string): string => keyless(text.slice(0, 2 * longestWord)).slice(0, longestWord);

const rounded = (milliseconds: number): number => Math.round(milliseconds * 100) / 100;
