import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { EventSplitter, parseEvent } from "../../../../src/agents/chat/events.js";

function eventsIn(chunks: string[]): [name: string, data: string][] {
  const events: [name: string, data: string][] = [];
  const splitter = new EventSplitter({
    onEvent(event, isComplete) {
      const parsed = isComplete ? parseEvent(event) : undefined;
      if (parsed) events.push([parsed.name, parsed.data]);
    },
  });
  for (const chunk of chunks) splitter.push(Buffer.from(chunk));
  splitter.end();
  return events;
}

describe("a stream, however it is cut and however many empty lines it has", () => {
  const stream = fc
    .array(fc.constantFrom("\n", "\r", "\r\n", "\n\n\n\n", "data: x", "event: e", ": c", "data:", "y"), {
      maxLength: 40,
    })
    .map((parts) => parts.join(""));
  const cuts = fc.array(fc.nat(200), { maxLength: 20 });
  const cut = (text: string, at: number[]) => {
    const paths = [...new Set([0, ...at.map((each) => each % (text.length + 1)), text.length])].sort((a, b) => a - b);
    return paths.slice(1).map((to, index) => text.slice(paths[index], to));
  };

  it("has the same events", () => {
    const read = (chunks: string[]) => eventsIn(chunks).map(([name, data]) => `${name} ${data}`);
    // By the letter of the standard, line by line.
    const expected = (text: string) => {
      const events: string[] = [];
      let [name, data]: [string, string[]] = ["", []];
      for (const line of text.split(/\r\n|\n|\r/).slice(0, -1)) {
        if (line === "") {
          if (data.length > 0) events.push(`${name || "message"} ${data.join("\n")}`);
          [name, data] = ["", []];
        } else if (/^data(:|$)/.test(line)) data.push(line.replace(/^data:? ?/, ""));
        else if (/^event(:|$)/.test(line)) name = line.replace(/^event:? ?/, "");
      }
      return events;
    };
    fc.assert(
      fc.property(stream, cuts, (text, at) => {
        expect(read(cut(text, at))).toEqual(expected(text));
      }),
    );
  });

  it("passes byte for byte", () => {
    fc.assert(
      fc.property(stream, cuts, (text, at) => {
        const passed: Buffer[] = [];
        const splitter = new EventSplitter({
          onEvent: (event) => passed.push(event),
          onOther: (bytes) => passed.push(bytes),
        });
        for (const each of cut(text, at)) splitter.push(Buffer.from(each));
        splitter.end();
        expect(Buffer.concat(passed).toString()).toBe(text);
      }),
    );
  });
});

it.each([
  [
    "event: a\r\ndata: 1\r\n\r\ndata: 2\r\n\r\n",
    [
      ["a", "1"],
      ["message", "2"],
    ],
  ],
  [
    "data: 1\rdata: 2\r\rdata:3\n\n",
    [
      ["message", "1\n2"],
      ["message", "3"],
    ],
  ],
  [": nothing\n\nid: 7\ndata\n\n", [["message", ""]]],
])("events %j", (text, found) => {
  for (const size of [1, 2, 3, text.length]) {
    const chunks: string[] = [];
    for (let at = 0; at < text.length; at += size) chunks.push(text.slice(at, at + size));
    expect(eventsIn(chunks)).toEqual(found);
  }
});
