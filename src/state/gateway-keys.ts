import { Fault } from "../errors.js";
import { isGatewayKeyName } from "../names.js";
import { didYouMean } from "../text/nearest.js";
import type { LockOptions } from "./lock.js";
import { boolean, list, number, object, oneOf, optional, record, type TypeOf, text, whole } from "./shape.js";
import { jsonStore, type Store } from "./store.js";

/** `read`: models, usage and metrics; `chat`: models and chat; `admin`: both. */
export const roles = ["read", "chat", "admin"] as const;

const key = object({
  /** Public: part of the key itself, of audit entries and of lists. Survives rotation. */
  id: text,
  /** Chosen by the user; unique among keys that are not revoked. */
  name: text,
  hash: text,
  /** The hash before rotation, while the old key is still accepted. */
  former: optional(object({ hash: text, until: text })),
  /** Patterns for `agent` and `host/agent`; `*` matches all. */
  agents: list(text),
  role: oneOf(...roles),
  created_at: text,
  rotated_at: optional(text),
  expires_at: optional(text),
  revoked_at: optional(text),
  /** Requests a minute. */
  rpm: optional(whole(1, 1_000_000)),
  /** Concurrent calls to one agent. */
  concurrency: optional(whole(1, 1000)),
  tokens_per_day: optional(whole(1, Number.MAX_SAFE_INTEGER)),
  budget: optional(object({ usd: number, per: oneOf("day", "month", "ever") })),
  /** Only signed requests are accepted. */
  signed: boolean,
  /** Keys in one group share sessions; without a group a key has its own. */
  session_group: optional(text),
  /** Reaches every session by the agent's own id, including those of other keys, of `clm chat` and of handoffs. */
  all_sessions: optional(boolean),
});

const keys = object({ keys: record(key) });

/** A key as recorded. It contains a keyed hash, not the key itself, which is shown only once. */
export type GatewayKey = TypeOf<typeof key>;
/** By id. */
export type GatewayKeys = TypeOf<typeof keys>;

/** `gateway-keys.json`. Its lock must not be called `gateway`: a serving gateway holds that one all the time. */
export function gatewayKeyStore(dir: string, lock: LockOptions = {}): Store<GatewayKeys> {
  return jsonStore({ dir, file: "gateway-keys.json", shape: keys, empty: () => ({ keys: {} }), lock });
}

/** The key with that name or id. Of several with one name: the one that is not revoked, else the last revoked. */
export function findGatewayKey({ keys }: GatewayKeys, word: string): GatewayKey {
  const all = Object.values(keys);
  const named = all.filter(({ name }) => name === word).sort((a, b) => (endOf(a) < endOf(b) ? 1 : -1));
  const found = named[0] ?? all.find(({ id }) => id === word);
  if (found) return found;
  const names = all.filter((each) => each.revoked_at === undefined).map(({ name }) => name);
  const none = all.length === 0;
  const what = isGatewayKeyName(word) ? `no gateway key is called '${word}'` : "no gateway key has such a name";
  throw new Fault("not-found", what, {
    ...didYouMean(word, names, none ? "no key has been created yet" : []),
    next: none ? "clm gateway key create --help" : "clm gateway key list",
  });
}

/** Not revoked sorts after every date. */
const endOf = ({ revoked_at }: GatewayKey): string => revoked_at ?? "~";
