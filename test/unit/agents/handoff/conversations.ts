import fc from "fast-check";
import type { TranscriptMessage } from "../../../../src/agents/handoff/transcript.js";
import { transcriptFrom } from "../../../../src/agents/hermes/handoff/handoff.js";
import type { Row } from "../../../../src/agents/sessions/sessions.js";

/** Texts that quote each other, contain placeholders, and are no words at all. */
const lines = fc.constantFrom(
  "the safe is 4711-0815",
  "under the mat, left",
  'a "quoted" line, too',
  "[the output of read was not handed over]",
  "over]the safe is 4711-0815",
  "was not handed over",
  "hunter2",
  "short",
  "größer 東京タワー \u{1f600}",
  "\0\u001b[31mred and long enough",
);
const texts = fc
  .array(fc.oneof(lines, fc.string({ maxLength: 8 })), { maxLength: 4 })
  .chain((parts) => fc.constantFrom("\n", "", " ").map((between) => parts.join(between)));
const contents = fc.oneof(
  texts,
  texts.map((text) => JSON.stringify({ output: text })),
  fc.constant(null),
  fc.array(
    fc.oneof(
      texts.map((text) => ({ type: "text", text })),
      fc.constant({ type: "image_url", image_url: { url: "data:image/png;base64,AAAA" } }),
    ),
    { maxLength: 2 },
  ),
);
const ids = fc.constantFrom("a", "b", "c");
const names = fc.constantFrom("read", "web", "terminal");
const calls = fc.array(
  fc.record({
    id: ids,
    function: fc.record({
      name: names,
      arguments: fc.oneof(
        texts.map((q) => JSON.stringify({ q })),
        texts,
      ),
    }),
  }),
  { maxLength: 2 },
);
const rows: fc.Arbitrary<Row> = fc.oneof(
  fc.record({ role: fc.constant("user"), content: contents }),
  fc.record({ role: fc.constant("assistant"), content: contents, tool_calls: calls }),
  fc.record({ role: fc.constant("tool"), content: contents, tool_call_id: ids, tool_name: fc.option(names) }),
);

/** Conversations in no order that a model would keep. */
export const conversations = fc
  .array(rows, { maxLength: 14 })
  .map((some) => transcriptFrom(some.map((row, at) => ({ ...row, timestamp: at + 1 }))));

/** The results of denied tools, by their own name or that of the call before, as plain texts. */
export function deniable(messages: readonly TranscriptMessage[], tool: string): string[] {
  return messages.flatMap(({ content, answers }, at) => {
    if (!answers) return [];
    const call = messages
      .slice(0, at)
      .flatMap((each) => each.calls)
      .findLast(({ id }) => id === answers.id);
    if (answers.tool !== tool && call?.name !== tool) return [];
    const texts = typeof content === "string" ? [content] : content.map((part) => String(part.text ?? ""));
    return texts.flatMap((text) => [text, outputIn(text)]);
  });
}

function outputIn(text: string): string {
  try {
    return String(JSON.parse(text).output ?? "");
  } catch {
    return "";
  }
}
