import { type SessionIds, sessionIdHeaders, sessionIdMembers } from "./session-ids.js";
import type { SessionScope } from "./session-scope.js";

/** The ids of one request, as its caller and as the agent know them, and how what the agent answers is told to the caller. */
export interface ScopedIds {
  /** Headers to send. */
  headers: Record<string, string>;
  /** Members of the body that differ from the caller's. */
  members: Record<string, string>;
  /** The answer's headers with the caller's names in them. */
  headersBack(headers: Record<string, string>): Record<string, string>;
  /** The id of a response, as the caller is told it. */
  response(id: string): string;
}

/** `asked` are the ids as the caller names them. Without a scope every id passes as it is. */
export function scopedIds(
  asked: SessionIds,
  said: Readonly<Record<string, unknown>>,
  scope: SessionScope | undefined,
): ScopedIds {
  if (!scope) {
    return {
      headers: namedBy(sessionIdHeaders, asked),
      members: {},
      headersBack: (back) => back,
      response: (id) => id,
    };
  }
  const sent = scope.upstream(asked);
  // Hermes names a session by its first words when nobody does, so that two keys with the same words would share it. A session that
  // is named replaces the history in the body, so only a request without one gets a name of its own.
  if (sent.session === undefined && isFirstTurn(said.messages)) sent.session = scope.newSession();
  return {
    headers: namedBy(sessionIdHeaders, sent),
    members: namedBy(sessionIdMembers, sent),
    headersBack({ [sessionIdHeaders.session]: session, [sessionIdHeaders.sessionKey]: _, ...back }) {
      const told = visible(session, asked, sent, scope);
      return {
        ...back,
        ...(told !== undefined && { [sessionIdHeaders.session]: told }),
        ...(asked.sessionKey !== undefined && { [sessionIdHeaders.sessionKey]: asked.sessionKey }),
      };
    },
    response: (id) => scope.seal("previousResponse", id),
  };
}

/**
 * The caller's own name for the session, or the sealed id of one that the agent chose. A session that the agent named by the first
 * words, which others may have said too, is not given out.
 */
function visible(
  session: string | undefined,
  asked: SessionIds,
  sent: SessionIds,
  scope: SessionScope,
): string | undefined {
  if (session === undefined) return undefined;
  if (asked.session !== undefined && session === sent.session) return asked.session;
  return namedByWords.test(session) ? undefined : scope.seal("session", session);
}

const namedByWords = /^api-[0-9a-f]+$/;

/** Nothing was said before: there is one message beside those of the system. */
const isFirstTurn = (messages: unknown): boolean =>
  Array.isArray(messages) && messages.filter((message) => message?.role !== "system").length === 1;

function namedBy(names: Partial<Record<keyof SessionIds, string>>, ids: SessionIds): Record<string, string> {
  const named: Record<string, string> = {};
  for (const kind in names) {
    const [name, id] = [names[kind as keyof SessionIds], ids[kind as keyof SessionIds]];
    if (name !== undefined && id !== undefined) named[name] = id;
  }
  return named;
}
