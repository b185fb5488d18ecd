import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { EventSplitter } from "../../../../../src/agents/chat/events.js";
import { withoutOwnToolEvents, withoutOwnTools } from "../../../../../src/agents/hermes/chat/own-tools.js";

const event = (type: string, more: object = {}) =>
  `event: response.${type}\ndata: ${JSON.stringify({ type: `response.${type}`, ...more })}\n\n`;
const call = { id: "fc_1", type: "function_call", call_id: "call_1", name: "terminal", arguments: `{"command":"ls"}` };
const result = { id: "fco_1", type: "function_call_output", call_id: "call_1", output: [{ text: "Grüße" }] };
const message = { id: "msg_1", type: "message", role: "assistant", content: [{ type: "output_text", text: "𝒲elt" }] };
const begun = { ...message, content: [] };
const usage = { input_tokens: 4, output_tokens: 6 };

const told = (place: number, output: object[]) => [
  event("output_item.added", { sequence_number: 7, output_index: place, item: begun }),
  ": keepalive\n\n",
  event("output_text.delta", { item_id: "msg_1", output_index: place, delta: "𝒲elt" }),
  event("output_text.done", { item_id: "msg_1", output_index: place, text: "𝒲elt" }),
  event("output_item.done", { output_index: place, item: message }),
  event("completed", { response: { id: "resp_1", output, usage } }),
];
const created = event("created", { response: { id: "resp_1", output: [] } });
const ofTool = [
  event("output_item.added", { output_index: 0, item: { ...call, status: "in_progress" } }),
  event("function_call_arguments.delta", { item_id: "fc_1", output_index: 0, delta: "{" }),
  event("function_call_arguments.done", { item_id: "fc_1", output_index: 0, arguments: "{}" }),
  event("output_item.done", { output_index: 0, item: call }),
  event("output_item.added", { output_index: 1, item: result }),
  event("output_item.done", { output_index: 1, item: result }),
];

const cases: [what: string, given: string, passed: string][] = [
  ["nothing", "", ""],
  ["no tools", [created, ...told(0, [message])].join(""), [created, ...told(0, [message])].join("")],
  [
    "a tool, and what follows it in its place",
    [": keepalive\n\n", created, ...ofTool, ...told(2, [call, result, message])].join(""),
    [": keepalive\n\n", created, ...told(0, [message])].join(""),
  ],
  [
    "a tool after words",
    [created, ...told(0, [message]).slice(0, -1), event("output_item.added", { output_index: 1, item: call })].join(""),
    [created, ...told(0, [message]).slice(0, -1)].join(""),
  ],
  [
    "a failure in the middle",
    event("failed", { response: { output: [call], error: {} } }),
    event("failed", { response: { output: [], error: {} } }),
  ],
  [
    "one that stopped",
    event("incomplete", { response: { status: "incomplete", output: [call, message] } }),
    event("incomplete", { response: { status: "incomplete", output: [message] } }),
  ],
  [
    "words about one",
    event("output_text.delta", { output_index: 0, delta: "function_call" }),
    event("output_text.delta", { output_index: 0, delta: "function_call" }),
  ],
  ["what is not JSON", "data: function_call {\n\ndata: [DONE]\n\n", "data: function_call {\n\ndata: [DONE]\n\n"],
  ["what is no event", "function_call\n\n\n\nfoo: bar\n", "function_call\n\n\n\nfoo: bar\n"],
  [
    "data on several lines, and an id",
    `id: 1\ndata: {"type":"response.completed",\ndata: "response":{"output":[${JSON.stringify(call)}]}}\nretry: 5\n\n`,
    `id: 1\ndata: {"type":"response.completed","response":{"output":[]}}\nretry: 5\n\n`,
  ],
  [
    "a tool on several lines",
    `data: {"type":"response.output_item.added",\ndata:"item":\ndata: {"type":"function_call"}}\n\n: x\n\n`,
    ": x\n\n",
  ],
  ["a last event that is not ended", `${created}${ofTool[0]?.trimEnd()}`, created],
  ["a last event that is not ended, and is no tool's", `${created}data: {}`, `${created}data: {}`],
];

const ends: [what: string, end: string][] = [
  ["newlines", "\n"],
  ["both", "\r\n"],
  ["returns", "\r"],
];

/** Splits a stream and rewrites its events; gives what passes after each chunk. */
function eventFilter(rewrite: (event: Buffer) => Buffer) {
  const passed: Buffer[] = [];
  const onEvent = (event: Buffer) => passed.push(rewrite(event));
  const splitter = new EventSplitter({ onEvent, onOther: (bytes) => passed.push(bytes) });
  return {
    push(chunk: Buffer): Buffer {
      splitter.push(chunk);
      return Buffer.concat(passed.splice(0));
    },
    end(): Buffer {
      splitter.end();
      return Buffer.concat(passed.splice(0));
    },
  };
}

function passedOf(bytes: Buffer, paths: number[]): string {
  const filter = eventFilter(withoutOwnToolEvents());
  const passed: Buffer[] = [];
  for (let n = 1; n < paths.length; n++) passed.push(filter.push(bytes.subarray(paths[n - 1], paths[n])));
  return Buffer.concat([...passed, filter.end()]).toString();
}

describe.each(ends)("events that end with %s", (_name, end) => {
  it.each(cases)("%s: the same wherever it is cut", (_what, given, passed) => {
    const bytes = Buffer.from(given.replaceAll("\n", end));
    const cuts = fc
      .array(fc.nat({ max: bytes.length }), { maxLength: 12 })
      .map((all) => [0, ...all.sort((a, b) => a - b), bytes.length]);
    fc.assert(
      fc.property(cuts, (paths) => {
        expect(passedOf(bytes, paths)).toBe(passed.replaceAll("\n", end));
      }),
    );
    expect(
      passedOf(
        bytes,
        Array.from({ length: bytes.length + 1 }, (_, at) => at),
      ),
    ).toBe(passed.replaceAll("\n", end));
  });
});

describe("nothing waits longer than it must", () => {
  it.each([
    ["an event", [created], [created]],
    ["an event in two", [created.slice(0, 9), created.slice(9)], ["", created]],
    ["an event and the next one's beginning", [`${created}data: {`, "}\n\n"], [created, "data: {}\n\n"]],
    ["a comment, before its empty line", [": keepalive\n", "\n"], [": keepalive\n", "\n"]],
    ["a comment in an event, with it", ["data: {}\n", ": x\n", "\n"], ["", "", "data: {}\n: x\n\n"]],
    ["an event between two of a tool", [`${ofTool[0]}${created}${ofTool[1]}`], [created]],
  ])("%s", (_what, chunks, passed) => {
    const filter = eventFilter(withoutOwnToolEvents());
    expect(chunks.map((chunk) => filter.push(Buffer.from(chunk)).toString())).toEqual(passed);
  });

  it("an event that does not end passes, before it fills the memory", () => {
    const filter = eventFilter(withoutOwnToolEvents());
    const chunk = Buffer.alloc(8 * 1024 * 1024, "x");
    let passed = 0;
    for (let n = 0; n < 10; n++) passed += filter.push(chunk).length;
    expect(passed).toBe(10 * chunk.length);
  });
});

describe("a whole answer", () => {
  const answer = (output: unknown) => JSON.stringify({ id: "resp_1", output, usage });
  it.each([
    ["without tools", answer([message]), answer([message])],
    ["with tools", answer([call, result, message]), answer([message])],
    ["with tools alone", answer([call]), answer([])],
    [
      "with words about them",
      answer([{ ...message, text: "function_call" }]),
      answer([{ ...message, text: "function_call" }]),
    ],
    ["with something else for a list", answer("function_call"), answer("function_call")],
    ["with nothing in it", answer([null, call]), answer([null])],
    ["that is not JSON", "function_call", "function_call"],
    ["that is no object", `["function_call"]`, `["function_call"]`],
  ])("%s", (_what, given, passed) => {
    expect(withoutOwnTools(Buffer.from(given)).toString()).toBe(passed);
  });
});
