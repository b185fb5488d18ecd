import { objectFrom } from "../../../text/json-object.js";
import type { ChatDialect } from "../../chat/dialect.js";
import type { ServerEvent } from "../../chat/events.js";
import { chatBody } from "../../chat/message.js";
import { StreamReader, type ToolUse, WholeReader } from "../../chat/stream.js";
import { chatSettings } from "../../manifest/registry.js";
import { streamsText } from "../codex/runtime.js";
import { hermesFailures } from "./failures.js";

const sessionHeader = "X-Hermes-Session-Id";
// Milliseconds. A stream has a comment every 30 s. Before a whole answer there is none, and a turn of Codex may take ten minutes.
const silence = { streamed: 120_000, whole: 900_000 };

const chat: ChatDialect = {
  request(agent, { session, text, system, maxTokens }) {
    const { path, model } = chatSettings(agent.manifest);
    const streams = maxTokens === undefined && streamsText(agent);
    const limit = maxTokens === undefined ? {} : { max_tokens: maxTokens };
    return {
      path,
      headers: {
        "Content-Type": "application/json",
        Accept: streams ? "text/event-stream" : "application/json",
        [sessionHeader]: session,
      },
      body: JSON.stringify({ ...chatBody(model, text, system, streams), ...limit }),
      streams,
      silence: streams ? silence.streamed : silence.whole,
    };
  },
  errorHeader: "x-hermes-error",
  sessionIn: (headers) => headers[sessionHeader.toLowerCase()],
  reader({ manifest }, { streams, headers, onPiece }) {
    const options = { headers, onPiece, signs: hermesFailures(manifest), toolUse };
    return streams ? new StreamReader(options) : new WholeReader(options);
  },
};

export default chat;

function toolUse({ name, data }: ServerEvent): ToolUse | undefined {
  if (name !== "hermes.tool.progress") return undefined;
  const { tool, label, status } = objectFrom<Record<string, unknown>>(data) ?? {};
  if (typeof tool !== "string") return undefined;
  return { tool, label: typeof label === "string" ? label : "", status: typeof status === "string" ? status : "" };
}
