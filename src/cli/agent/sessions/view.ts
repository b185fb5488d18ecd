import type { ChatSession, SessionFilter, SessionMessage } from "../../../agents/sessions/sessions.js";
import type { SearchHit } from "../../../flows/agent/sessions/sessions.js";
import { snippetOf } from "../../../text/snippet.js";
import { age, clock } from "../../../ui/time.js";
import type { Context, View } from "../../command.js";
import { parseTimeAsSeconds } from "../../parse-time.js";

type Filters = Omit<SessionFilter, "since"> & { since?: string | undefined };

export const filterFrom = ({ limit, source, since }: Filters, { now }: Context): SessionFilter => ({
  limit,
  source,
  since: since === undefined ? undefined : parseTimeAsSeconds("--since", since, now()),
});

export const sessionData = ({ lastActive, messages, ...chat }: ChatSession) => ({
  ...chat,
  last_active: lastActive,
  message_count: messages,
});

export const messageData = ({ calls, ...message }: SessionMessage) => ({ ...message, tool_calls: calls });

export function sessionView(now: Date, empty: string): View<ChatSession> {
  const ago = (time: string | null) => (time ? `${age(time, now)} ago` : undefined);
  return {
    columns: [
      { title: "id", value: ({ id }) => id, whole: true },
      { title: "source", value: ({ source }) => source ?? undefined, drop: 5 },
      { title: "title", value: ({ title }) => title ?? undefined, drop: 4 },
      { title: "started", value: ({ started }) => ago(started), drop: 1 },
      { title: "last used", value: ({ lastActive }) => ago(lastActive), whole: true },
      { title: "messages", value: ({ messages }) => messages, drop: 6 },
      { title: "tokens", value: ({ tokens }) => tokens.input + tokens.output, drop: 3 },
      { title: "model", value: ({ model }) => model ?? undefined, drop: 2 },
    ],
    data: sessionData,
    name: ({ id }) => id,
    empty,
  };
}

/** Hidden before it is cut: half a secret is not recognised any more. */
export function hitView(text: string, hidden: (text: string) => string, empty: string): View<SearchHit> {
  const terms = text.split(/\s+/).filter((term) => term !== "");
  const snippet = ({ message }: SearchHit) => {
    const [said, ...called] = [message.text, ...message.calls.map((call) => `${call.name} ${call.arguments}`)].map(
      hidden,
    );
    const has = (part: string) => terms.some((term) => part.toLowerCase().includes(term.toLowerCase()));
    return snippetOf([said ?? "", ...called].find(has) ?? said ?? "", terms);
  };
  return {
    columns: [
      { title: "session", value: ({ session }) => session, whole: true },
      { title: "role", value: ({ message }) => message.role },
      { title: "time", value: ({ message }) => (message.at ? clock(message.at) : undefined), drop: 1 },
      { title: "text", value: snippet },
    ],
    data: (hit) => ({
      session: hit.session,
      source: hit.source,
      title: hit.title,
      role: hit.message.role,
      at: hit.message.at,
      tool: hit.message.tool,
      snippet: snippet(hit),
    }),
    name: ({ session }) => session,
    empty,
  };
}
