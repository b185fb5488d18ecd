import type { UpstreamDialect } from "../../agents/chat/upstream.js";
import { idHeaders, idMembers, namedBy, type SessionIds } from "./session-ids.js";
import type { SessionScope } from "./session-scope.js";

/** The ids of one request as the agent gets them, and the ids of its answer as the caller gets them. */
export interface ScopedIds {
  headers: Record<string, string>;
  /** Members of the body that differ from the caller's. */
  members: Record<string, string>;
  /** The answer's headers with the caller's ids. */
  headersBack(headers: Record<string, string>): Record<string, string>;
  /** The id of a response as the caller gets it. */
  response(id: string): string;
}

/** Ids pass unchanged: for a key that may use all sessions, and for a proxy. */
export const unscopedIds = (ids: SessionIds, { sessionHeaders }: UpstreamDialect): ScopedIds => ({
  headers: namedBy(idHeaders(sessionHeaders), ids),
  members: {},
  headersBack: (back) => back,
  response: (id) => id,
});

/** `ids` are the caller's. */
export function scopedIds(
  ids: SessionIds,
  body: Readonly<Record<string, unknown>>,
  scope: SessionScope,
  { sessionHeaders, derivedSession }: UpstreamDialect,
): ScopedIds {
  const sent = scope.upstream(ids);
  // A named session replaces the history in the body, so only a first message gets one that the caller did not name.
  if (sent.session === undefined && isFirstTurn(body.messages)) sent.session = scope.newSession();

  /** The caller's own name, or the sealed id of a session that the agent named. */
  function visible(session: string): string | undefined {
    if (ids.session !== undefined && session === sent.session) return ids.session;
    return derivedSession.test(session) ? undefined : scope.seal("session", session);
  }

  return {
    headers: namedBy(idHeaders(sessionHeaders), sent),
    members: namedBy(idMembers, sent),
    headersBack(headers) {
      const back = { ...headers };
      const { session, sessionKey } = sessionHeaders;
      if (session !== undefined && back[session] !== undefined) {
        const shown = visible(back[session]);
        if (shown === undefined) delete back[session];
        else back[session] = shown;
      }
      if (sessionKey !== undefined) {
        delete back[sessionKey];
        if (ids.sessionKey !== undefined) back[sessionKey] = ids.sessionKey;
      }
      return back;
    },
    response: (id) => scope.seal("previousResponse", id),
  };
}

/** There is one message beside those of the system. */
const isFirstTurn = (messages: unknown): boolean =>
  Array.isArray(messages) && messages.filter((message) => message?.role !== "system").length === 1;
