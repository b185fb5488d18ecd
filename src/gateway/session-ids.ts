import type { IncomingHttpHeaders } from "node:http";
import { Refusal } from "./refusal.js";

/**
 * What in a request names something that the agent keeps and loads by itself: with any of these, an agent adds history that is
 * not in the body, or gives the answer of another request.
 */
export interface SessionIds {
  /** A stored session: its messages replace those of the body. */
  session?: string;
  /** Scopes the agent's long-term memory. */
  sessionKey?: string;
  /** Requests with the same one share one answer for some minutes. */
  idempotencyKey?: string;
  /** An earlier answer of /v1/responses, with all that came before it. */
  previousResponse?: string;
  /** A named chain of such answers. */
  conversation?: string;
}

export type SessionIdKind = keyof SessionIds;

/** The headers that say where a message goes, as Node spells them. */
export const sessionIdHeaders = {
  session: "x-hermes-session-id",
  sessionKey: "x-hermes-session-key",
  idempotencyKey: "idempotency-key",
} as const satisfies Partial<Record<SessionIdKind, string>>;

/** The members of a body that do. */
export const sessionIdMembers = {
  previousResponse: "previous_response_id",
  conversation: "conversation",
} as const satisfies Partial<Record<SessionIdKind, string>>;

/** Those whose history the agent loads: what a call comes to depends on what is stored there. */
export const historyKinds = ["session", "previousResponse", "conversation"] as const satisfies readonly SessionIdKind[];

/** An empty text names nothing, to agents as well. A body that names one by anything but a text is refused. */
export function sessionIdsIn(headers: IncomingHttpHeaders, body: Readonly<Record<string, unknown>>): SessionIds {
  const ids: SessionIds = {};
  for (const [kind, name] of Object.entries(sessionIdHeaders) as [keyof typeof sessionIdHeaders, string][]) {
    const value = headers[name];
    if (typeof value === "string" && value !== "") ids[kind] = value;
  }
  for (const [kind, name] of Object.entries(sessionIdMembers) as [keyof typeof sessionIdMembers, string][]) {
    const value = Object.hasOwn(body, name) ? body[name] : undefined;
    if (value === undefined || value === null || value === "") continue;
    if (typeof value !== "string") throw notText(name);
    ids[kind] = value;
  }
  return ids;
}

const notText = (param: string): Refusal =>
  new Refusal(400, "invalid_session_id", `\`${param}\` must be a text.`, { param });
