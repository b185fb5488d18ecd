import { fenced } from "../../../agents/chat/message.js";
import type { SessionMessage } from "../../../agents/sessions/sessions.js";
import type { Transcript } from "../../../flows/agent/sessions/sessions.js";
import { agentId } from "../../../state/agents.js";
import { beginningOf } from "../../../text/snippet.js";
import { clock } from "../../../ui/time.js";

export interface TextOptions {
  /** Nothing is shortened. */
  full: boolean;
  /** Redacts a text. Runs before shortening: half a secret is not recognised any more. */
  hidden: (text: string) => string;
}

// A line of a wide terminal, and a few lines.
const callLength = 120;
const toolLength = 300;

export function conversation({ chat, messages }: Transcript, options: TextOptions): string {
  const { id, source, title, model, started, lastActive, tokens, parent } = chat;
  const facts = [
    source,
    model,
    started && `started ${clock(started)}`,
    lastActive && `last used ${clock(lastActive)}`,
    `${tokens.input + tokens.output} tokens`,
    parent && `goes on from ${parent}`,
  ];
  const head = [title ? `${id}: ${title}` : id, facts.filter(Boolean).join(", ")];
  return [head.join("\n"), ...messages.map((message) => messageText(message, options))].join("\n\n");
}

function messageText({ role, at, text, calls, tool }: SessionMessage, { full, hidden }: TextOptions): string {
  const who = [role, tool].filter(Boolean).join(" ");
  const body = hidden(text).replace(/\s+$/, "");
  const short = !full && role === "tool" ? beginningOf(body, toolLength) : body;
  const called = calls.map(({ name, arguments: given }) => {
    const all = hidden(given);
    return `-> ${name} ${full ? all : beginningOf(all, callLength)}`;
  });
  const lines = [...(short === "" ? [] : [short]), ...called].join("\n");
  return [`${who} (${at ? clock(at) : "at no time"})`, ...(lines === "" ? [] : [lines.replace(/^(?=.)/gm, "  ")])].join(
    "\n",
  );
}

export function markdown({ agent, chat, messages }: Transcript): string {
  const { id, source, title, model, started, lastActive, parent } = chat;
  const facts = [
    ["session", id],
    ["agent", agentId(agent)],
    ["source", source],
    ["model", model],
    ["started", started],
    ["last used", lastActive],
    ["goes on from", parent],
  ].flatMap(([name, value]) => (value ? [`- ${name}: ${value}`] : []));
  return `${[`# ${oneLine(title ?? id)}`, facts.join("\n"), ...messages.map(section)].join("\n\n")}\n\n`;
}

function section({ role, at, text, calls, tool }: SessionMessage): string {
  const head = `## ${[role, tool].filter(Boolean).join(" ")}${at ? ` (${clock(at)})` : ""}`;
  const called = calls.map(({ name, arguments: given }) => `Called ${oneLine(name)}:\n\n${block(given)}`);
  return [head, ...[role === "tool" ? block(text) : text, ...called].filter((part) => part !== "")].join("\n\n");
}

const oneLine = (text: string): string => text.replace(/\s+/g, " ");
const block = (text: string): string => (text === "" ? "" : fenced(text));
