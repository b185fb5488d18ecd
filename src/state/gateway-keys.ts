import { Fault } from "../errors.js";
import { nearest } from "../nearest.js";
import type { LockOptions } from "./lock.js";
import { list, number, object, oneOf, optional, record, type Shaped, text, truth, whole } from "./shape.js";
import { jsonStore, type Store } from "./store.js";

/** What a key may do: `read` sees models, usage and metrics, `chat` sees models and talks, `admin` does both. */
export const roles = ["read", "chat", "admin"] as const;

const key = object({
  /** Public: stands in the key itself, in the audit log and in lists. It stays when the key is rotated. */
  id: text,
  /** Given by a person, unique among those that are not revoked. */
  name: text,
  hash: text,
  /** What the hash was before it was rotated, while that still opens. */
  former: optional(object({ hash: text, until: text })),
  /** Patterns of `agent` and `host/agent`; `*` is all. */
  agents: list(text),
  role: oneOf(...roles),
  created_at: text,
  rotated_at: optional(text),
  expires_at: optional(text),
  revoked_at: optional(text),
  /** Requests a minute. */
  rpm: optional(whole(1, 1_000_000)),
  /** Calls to one agent that are under way at once. */
  concurrency: optional(whole(1, 1000)),
  tokens_per_day: optional(whole(1, Number.MAX_SAFE_INTEGER)),
  budget: optional(object({ usd: number, per: oneOf("day", "month", "ever") })),
  /** Only signed requests are taken. */
  signed: truth,
  /** Keys of one group have the same sessions; without one a key has its own. */
  session_group: optional(text),
  /** Sessions are named as the agent names them: also those of other keys, of `clm chat` and of handoffs. */
  all_sessions: optional(truth),
});

const keys = object({ keys: record(key) });

/** A key as it is recorded. What was shown once is not in it: only a keyed hash of that. */
export type GatewayKey = Shaped<typeof key>;
/** By id. */
export type GatewayKeys = Shaped<typeof keys>;

/**
 * `gateway-keys.json`: who may come through the gateway. Its lock has the file's name, and must not be called `gateway`: that
 * one is held for as long as a gateway serves.
 */
export function gatewayKeyStore(dir: string, lock: LockOptions = {}): Store<GatewayKeys> {
  return jsonStore<GatewayKeys>({
    ...{ dir, file: "gateway-keys.json", version: 1, shape: keys, empty: () => ({ keys: {} }), lock },
  });
}

/** The key of that name or id. Of several with a name the one that is not revoked is meant, else the one revoked last. */
export function findGatewayKey({ keys }: GatewayKeys, word: string): GatewayKey {
  const all = Object.values(keys);
  const named = all.filter(({ name }) => name === word).sort((a, b) => (endOf(a) < endOf(b) ? 1 : -1));
  const found = named[0] ?? all.find(({ id }) => id === word);
  if (found) return found;
  const names = all.filter((each) => each.revoked_at === undefined).map(({ name }) => name);
  const guess = nearest(word, names);
  // A word that looks like nothing we give out may be the key itself, typed in the wrong place.
  const sayable = /^[a-z0-9][a-z0-9._-]{0,62}$/.test(word) && !word.startsWith("clm_");
  throw new Fault("not-found", sayable ? `no gateway key is called '${word}'` : "no gateway key has such a name", {
    why: all.length === 0 ? "none has been made yet" : guess ? `did you mean '${guess}'?` : [],
    next: all.length === 0 ? "clm gateway key create --help" : "clm gateway key list",
    data: guess ? { guess } : {},
  });
}

/** Not revoked sorts after every date. */
const endOf = ({ revoked_at }: GatewayKey): string => revoked_at ?? "~";
