import type { HandoffStore } from "../../handoff/store.js";
import { countsOf } from "../../handoff/transcript.js";
import { onStateDb } from "../state-db/program.js";
import channelProgram from "./channel.py?raw";
import program from "./program.py?raw";

export { transcriptFrom } from "./rows.js";

/** In SQL at every version: the API has sessions from 0.15 on, but takes no messages for them. */
export const change: HandoffStore["change"] = (request, paths) => onStateDb(program, request, paths, "its own");
export const toChannel: HandoffStore["toChannel"] = (request, paths) => onStateDb(channelProgram, request, paths);

/** Every version has these columns. */
export const rowOf: HandoffStore["rowOf"] = ({ role, content, calls, answers, at }) => ({
  role,
  content,
  timestamp: at,
  tool_calls:
    calls.length === 0
      ? null
      : calls.map(({ id, name, arguments: given }) => ({ id, type: "function", function: { name, arguments: given } })),
  ...(answers && { tool_call_id: answers.id, tool_name: answers.tool }),
  ...(role === "assistant" && { finish_reason: calls.length > 0 ? "tool_calls" : "stop" }),
});

/** Without costs, which were paid elsewhere, and without a system prompt, which the agent makes itself. */
export const sessionRow: HandoffStore["sessionRow"] = (messages, title, model) => ({
  source: "api_server",
  title: title.replace(/\s+/g, " ").trim() || null,
  model: model ?? null,
  started_at: messages[0]?.at ?? 0,
  ...countsOf(messages),
});
