import { createHmac, createSecretKey, randomUUID, timingSafeEqual } from "node:crypto";
import type { Secret } from "../../secret.js";
import type { GatewayKey } from "./key.js";
import { Refusal } from "./refusal.js";
import type { SessionIdKind, SessionIds } from "./session-ids.js";

/**
 * The session names of one key, or of one group of keys. An agent knows no keys: any caller who names a session continues it. So a
 * name that a caller chose becomes a keyed hash, and an id that an agent chose is given out sealed.
 */
export interface SessionScope {
  /** The agent's ids for those of a caller. Throws a Refusal for a response of another scope. */
  upstream(ids: SessionIds): SessionIds;
  newSession(): string;
  /** An id that the agent chose, as the caller gets it: only this scope can send it back. */
  seal(kind: SealedKind, id: string): string;
}

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
    const scope = known.get(key) ?? sessionScope(secret, reach === "own" ? `key:${key.id}` : reach);
    known.set(key, scope);
    return scope;
  };
}

const tagLength = 32;
const sealed = new RegExp(`^(.+)\\.([0-9a-f]{${tagLength}})$`, "s");

export function sessionScope(secret: Secret, scope: string): SessionScope {
  const key = createSecretKey(Buffer.from(secret.reveal(), "hex"));
  const hash = (purpose: string, kind: SessionIdKind, id: string) =>
    createHmac("sha256", key)
      .update(JSON.stringify(["clm sessions v1", scope, purpose, kind, id]))
      .digest("hex")
      .slice(0, tagLength);
  const named = (kind: SessionIdKind, id: string) => `clm-${hash("name", kind, id)}`;
  const seal = (kind: SealedKind, id: string) => `${id}.${hash("seal", kind, id)}`;

  function opened(kind: SealedKind, text: string): string | undefined {
    const [, id, tag] = sealed.exec(text) ?? [];
    if (id === undefined || tag === undefined) return undefined;
    return timingSafeEqual(Buffer.from(tag), Buffer.from(hash("seal", kind, id))) ? id : undefined;
  }

  function earlier(text: string): string {
    const id = opened("previousResponse", text);
    if (id !== undefined) return id;
    // The same for another key's response and one that does not exist.
    throw new Refusal(404, "previous_response_not_found", "There is no response with this `previous_response_id`.", {
      param: "previous_response_id",
    });
  }

  return {
    seal,
    newSession: () => `clm-${randomUUID()}`,
    upstream({ session, sessionKey, idempotencyKey, previousResponse, conversation }) {
      return {
        ...(session !== undefined && { session: opened("session", session) ?? named("session", session) }),
        ...(sessionKey !== undefined && { sessionKey: named("sessionKey", sessionKey) }),
        ...(idempotencyKey !== undefined && { idempotencyKey: named("idempotencyKey", idempotencyKey) }),
        ...(previousResponse !== undefined && { previousResponse: earlier(previousResponse) }),
        ...(conversation !== undefined && { conversation: named("conversation", conversation) }),
      };
    },
  };
}
