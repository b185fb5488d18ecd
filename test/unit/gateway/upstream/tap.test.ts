import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { EventSplitter } from "../../../../src/agents/chat/events.js";
import { StreamTap, WholeTap } from "../../../../src/gateway/upstream/tap.js";

const noForms = { always: [], withoutUsage: [] };

const event = (data: object, name = "") => `${name && `event: ${name}\n`}data: ${JSON.stringify(data)}\n\n`;
const delta = (content: string) => event({ choices: [{ delta: { content } }] });

const chat = [
  ": keepalive\n\n",
  event({ choices: [{ delta: { role: "assistant" } }] }),
  delta("Grüße, "),
  event({ tool: "terminal", status: "running" }, "hermes.tool.progress"),
  delta("𝒲elt"),
];
const usage = { prompt_tokens: 11, completion_tokens: 3 };
const end = event({ choices: [{ delta: {}, finish_reason: "stop" }], usage });
const completed = { type: "response.completed", response: { usage: { input_tokens: 4, output_tokens: 6 } } };

const streams: [what: string, text: string, seen: object][] = [
  ["told by chat", `${chat.join("")}${end}data: [DONE]\n\n`, { tokens: { input: 11, output: 3 }, over: true }],
  [
    "told with returns",
    `${chat.join("")}${end}data: [DONE]\n\n`.replaceAll("\n", "\r\n"),
    { tokens: { input: 11, output: 3 }, over: true },
  ],
  [
    "told by responses",
    event({ type: "response.output_text.delta", delta: "hi" }, "response.output_text.delta") +
      event(completed, "response.completed"),
    { tokens: { input: 4, output: 6 }, over: true },
  ],
  ["not told", `${chat.join("")}data: [DONE]\n\n`, { tokens: { input: 100, output: 4, estimated: true }, over: true }],
  [
    "told as zero",
    chat.join("") + event({ usage: { prompt_tokens: 0, completion_tokens: 0 } }),
    { tokens: { input: 100, output: 4, estimated: true }, over: false },
  ],
  ["broken off", `${chat.join("")}data: {"usa`, { tokens: { input: 100, output: 4, estimated: true }, over: false }],
  [
    "not told, of what is thought, of tools that are called and of a second answer",
    event({ choices: [{ delta: { reasoning_content: "12345678" } }, { delta: { content: "1234" } }] }) +
      event({ choices: [{ delta: { tool_calls: [{ id: "c1", function: { name: "ls", arguments: "123456" } }] } }] }),
    { tokens: { input: 100, output: 5, estimated: true }, over: false },
  ],
  ["no events at all", "what is this", { tokens: { input: 100, output: 0, estimated: true }, over: false }],
];

const splitterTo = (tap: StreamTap) =>
  new EventSplitter({ onEvent: (event, isComplete) => isComplete && tap.take(event) });

describe("a stream's tokens", () => {
  it.each(streams)("%s: the same wherever it is cut", (_what, text, seen) => {
    const bytes = Buffer.from(text);
    const cuts = fc
      .array(fc.nat({ max: bytes.length }), { maxLength: 12 })
      .map((all) => [0, ...all.sort((a, b) => a - b), bytes.length]);
    fc.assert(
      fc.property(cuts, (paths) => {
        const tap = new StreamTap(noForms);
        const splitter = splitterTo(tap);
        for (let n = 1; n < paths.length; n++) splitter.push(bytes.subarray(paths[n - 1], paths[n]));
        splitter.end();
        expect({ tokens: tap.tokens(100), over: tap.over }).toEqual(seen);
      }),
    );
  });

  it("keeps text up to its limit", () => {
    const [short, long] = [new StreamTap(noForms), new StreamTap(noForms, 10_000)];
    const bytes = Buffer.from(delta("one ").repeat(1000));
    for (const tap of [short, long]) splitterTo(tap).push(bytes);
    expect([short.text.length, long.text]).toEqual([400, "one ".repeat(1000)]);
  });

  it("recognises a failure sent as an answer", () => {
    const forms = { always: ["API call failed after"], withoutUsage: [] };
    const [tap, other] = [new StreamTap(forms), new StreamTap(noForms)];
    const bytes = Buffer.from(delta("API call failed") + delta(" after 3 retries") + end);
    for (const each of [tap, other]) splitterTo(each).push(bytes);
    expect(tap.failure({})?.text).toBe("API call failed after 3 retries");
    expect(other.failure({})).toBeUndefined();
  });
});

describe("a whole answer's tokens", () => {
  const answer = (content: unknown, more: object = {}) =>
    Buffer.from(JSON.stringify({ choices: [{ message: { content }, finish_reason: "stop" }], ...more }));
  const cases: [what: string, body: Buffer, tokens: object][] = [
    ["of chat", answer("hi", { usage }), { input: 11, output: 3 }],
    [
      "of responses",
      Buffer.from(`{"output":[],"usage":{"input_tokens":2,"output_tokens":1}}`),
      { input: 2, output: 1 },
    ],
    ["of embeddings", Buffer.from(`{"data":[],"usage":{"prompt_tokens":8,"total_tokens":8}}`), { input: 8, output: 0 }],
    ["none", answer("12345678"), { input: 100, output: 2, estimated: true }],
    ["none, in another script", answer("\u{6771}\u{4eac}\u{30bf}\u{30ef}"), { input: 100, output: 3, estimated: true }],
    ["null", answer([{ type: "text", text: "1234" }], { usage: null }), { input: 100, output: 1, estimated: true }],
    ...[-5, 1.5, 1e300, "7"].map((told): [string, Buffer, object] => [
      `nothing that can be: ${told}`,
      answer("12345678", { usage: { prompt_tokens: told, completion_tokens: 3 } }),
      { input: 100, output: 2, estimated: true },
    ]),
    ["not even JSON", Buffer.from("12345678"), { input: 100, output: 2, estimated: true }],
  ];
  it.each(cases)("%s", (_what, body, tokens) => {
    expect(new WholeTap(body).tokens(100)).toEqual(tokens);
  });

  it("a stream with only tool calls is an answer", () => {
    const called = Buffer.from(
      `{"choices":[{"message":{"content":null,"tool_calls":[{}]},"finish_reason":"tool_calls"}]}`,
    );
    expect(new WholeTap(called).failure({}, noForms)).toBeUndefined();
    expect(new WholeTap(answer("")).failure({}, noForms)).toMatchObject({ cause: "empty" });
  });
});
