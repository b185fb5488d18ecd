import { createHmac, createSecretKey, type KeyObject, randomUUID, timingSafeEqual } from "node:crypto";
import type { Secret } from "../../secret.js";
import type { GatewayKey } from "./gateway-key.js";
import { Refusal } from "./refusal.js";
import type { SessionIdKind, SessionIds } from "./session-ids.js";

type SealedKind = Extract<SessionIdKind, "session" | "previousResponse">;

/** Whose sessions a key may use, for lists and the audit log. */
export type SessionReach = "own" | "all" | `group:${string}`;

export const reachOf = ({
  all_sessions,
  session_group,
}: Pick<GatewayKey, "all_sessions" | "session_group">): SessionReach =>
  all_sessions ? "all" : session_group !== undefined ? `group:${session_group}` : "own";

/** The scope of each key; undefined for a key that may use all sessions, with the agent's own ids. */
export function scopesWith(secret: Secret): (key: GatewayKey) => SessionScope | undefined {
  const known = new WeakMap<GatewayKey, SessionScope>();
  return (key) => {
    const reach = reachOf(key);
    if (reach === "all") return undefined;
    const scope = known.get(key) ?? new SessionScope(secret, reach === "own" ? `key:${key.id}` : reach);
    known.set(key, scope);
    return scope;
  };
}

const tagLength = 32;
const sealed = new RegExp(`^(.+)\\.([0-9a-f]{${tagLength}})$`, "s");

/**
 * The session names of one key, or of one group of keys. An agent knows no keys: any caller who names a session continues it. So a
 * name that a caller chose becomes a keyed hash, and an id that an agent chose is given out sealed.
 */
export class SessionScope {
  readonly #key: KeyObject;

  constructor(
    secret: Secret,
    private readonly scope: string,
  ) {
    this.#key = createSecretKey(Buffer.from(secret.reveal(), "hex"));
  }

  newSession(): string {
    return `clm-${randomUUID()}`;
  }

  /** An id that the agent chose, as the caller gets it: only this scope can send it back. */
  seal(kind: SealedKind, id: string): string {
    return `${id}.${this.#hash("seal", kind, id)}`;
  }

  /** The agent's ids for those of a caller. Throws a Refusal for a response of another scope. */
  upstream({ session, sessionKey, idempotencyKey, previousResponse, conversation }: SessionIds): SessionIds {
    const named = (kind: SessionIdKind, id: string) => `clm-${this.#hash("name", kind, id)}`;
    return {
      ...(session !== undefined && { session: this.#opened("session", session) ?? named("session", session) }),
      ...(sessionKey !== undefined && { sessionKey: named("sessionKey", sessionKey) }),
      ...(idempotencyKey !== undefined && { idempotencyKey: named("idempotencyKey", idempotencyKey) }),
      ...(previousResponse !== undefined && { previousResponse: this.#earlier(previousResponse) }),
      ...(conversation !== undefined && { conversation: named("conversation", conversation) }),
    };
  }

  #hash(purpose: string, kind: SessionIdKind, id: string): string {
    const text = JSON.stringify(["clm sessions v1", this.scope, purpose, kind, id]);
    return createHmac("sha256", this.#key).update(text).digest("hex").slice(0, tagLength);
  }

  #opened(kind: SealedKind, text: string): string | undefined {
    const [, id, tag] = sealed.exec(text) ?? [];
    if (id === undefined || tag === undefined) return undefined;
    return timingSafeEqual(Buffer.from(tag), Buffer.from(this.#hash("seal", kind, id))) ? id : undefined;
  }

  #earlier(text: string): string {
    const id = this.#opened("previousResponse", text);
    if (id !== undefined) return id;
    // The same for another key's response and one that does not exist.
    throw new Refusal(404, "previous_response_not_found", "There is no response with this `previous_response_id`.", {
      param: "previous_response_id",
    });
  }
}
