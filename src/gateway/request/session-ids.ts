import type { IncomingHttpHeaders } from "node:http";
import type { SessionHeaders } from "../../agents/chat/upstream.js";
import { Refusal } from "./refusal.js";

/** Ids by which an agent loads what it stored: it then adds history that is not in the body, or repeats an answer. */
export interface SessionIds {
  /** A stored session: its messages replace those of the body. */
  session?: string;
  /** Scopes the agent's long-term memory. */
  sessionKey?: string;
  /** Requests with the same key share one answer for some minutes. */
  idempotencyKey?: string;
  /** An earlier answer of /v1/responses, with all that came before it. */
  previousResponse?: string;
  /** A named chain of such answers. */
  conversation?: string;
}

export type SessionIdKind = keyof SessionIds;
type IdNames = Readonly<Partial<Record<SessionIdKind, string>>>;

/** All headers that carry an id, in lower case as Node spells them; those of sessions are an agent type's own. */
export const idHeaders = (own: SessionHeaders): IdNames => ({ ...own, idempotencyKey: "idempotency-key" });
export const idMembers = { previousResponse: "previous_response_id", conversation: "conversation" } as const;
/** Ids whose history the agent loads: what a call costs depends on what is stored there. */
export const historyKinds = ["session", "previousResponse", "conversation"] as const satisfies readonly SessionIdKind[];
const kindsIn = (names: IdNames) => Object.entries(names) as [SessionIdKind, string][];

/** An empty text names nothing, to agents as well. An id in the body that is not a text is refused. */
export function sessionIdsIn(
  headers: IncomingHttpHeaders,
  body: Readonly<Record<string, unknown>>,
  own: SessionHeaders,
): SessionIds {
  const ids: SessionIds = {};
  for (const [kind, name] of kindsIn(idHeaders(own))) {
    const value = headers[name];
    if (typeof value === "string" && value !== "") ids[kind] = value;
  }
  for (const [kind, name] of kindsIn(idMembers)) {
    const value = Object.hasOwn(body, name) ? body[name] : undefined;
    if (value === undefined || value === null || value === "") continue;
    if (typeof value !== "string") {
      throw new Refusal(400, "invalid_session_id", `\`${name}\` must be a text.`, { param: name });
    }
    ids[kind] = value;
  }
  return ids;
}

export function namedBy(names: IdNames, ids: SessionIds): Record<string, string> {
  const named: Record<string, string> = {};
  for (const [kind, name] of kindsIn(names)) {
    const id = ids[kind];
    if (id !== undefined) named[name] = id;
  }
  return named;
}
