import { describe, expect, it } from "vitest";
import { withContentParts } from "../../../../../src/agents/hermes/chat/content-parts.js";

const event = (type: string, more: object = {}) =>
  `event: response.${type}\ndata: ${JSON.stringify({ type: `response.${type}`, ...more })}\n\n`;
const place = { item_id: "msg_1", output_index: 0, content_index: 0 };
const part = { type: "output_text", text: "", annotations: [] };
const added = event("content_part.added", { ...place, part });
const delta = (text: string, more: object = {}) => event("output_text.delta", { ...place, delta: text, ...more });

describe("a part of a message", () => {
  it.each([
    ["is begun before its first word", [delta("a"), delta("b")], [added + delta("a"), delta("b")]],
    ["that somebody has begun is not begun again", [added, delta("a")], [added, delta("a")]],
    [
      "is begun for each message",
      [delta("a"), delta("b", { item_id: "msg_2", output_index: 1 })],
      [
        added + delta("a"),
        event("content_part.added", { ...place, item_id: "msg_2", output_index: 1, part }) +
          delta("b", { item_id: "msg_2", output_index: 1 }),
      ],
    ],
    [
      "is begun before a word with any sign in it, on lines that end in any way",
      [delta("a\u2028b").replaceAll("\n", "\r\n")],
      [added + delta("a\u2028b").replaceAll("\n", "\r\n")],
    ],
    ["is nothing to other events", [event("created"), ": keepalive\n", "data: [DONE]\n\n"], undefined],
    ["is nothing to who only speaks of it", [event("completed", { said: "response.output_text.delta" })], undefined],
    ["of what is no JSON is none", ["data: response.output_text.delta\n\n"], undefined],
  ])("%s", (_what, given, shown) => {
    const judge = withContentParts();
    expect(given.map((each) => judge(Buffer.from(each)).toString())).toEqual(shown ?? given);
  });
});
