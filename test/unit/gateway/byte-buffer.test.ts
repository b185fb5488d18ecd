import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { eventReader } from "../../../src/agents/chat/events.js";
import { ByteBuffer } from "../../../src/gateway/byte-buffer.js";
import { eventFilter } from "../../../src/gateway/upstream/event-filter.js";

it("gives all pieces back in their order, and changes none of them", () => {
  fc.assert(
    fc.property(fc.array(fc.uint8Array({ maxLength: 50 }), { maxLength: 60 }), (arrays) => {
      const pieces = arrays.map((each) => Buffer.from(each));
      const copies = pieces.map((each) => Buffer.from(each));
      const buffer = new ByteBuffer();
      for (let round = 0; round < 2; round++) {
        for (const piece of pieces) buffer.push(piece);
        expect(buffer.length).toBe(Buffer.concat(copies).length);
        expect(buffer.take()).toEqual(Buffer.concat(copies));
      }
      expect(pieces).toEqual(copies);
    }),
  );
});

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
    const read = (chunks: string[]) => {
      const events: string[] = [];
      const reader = eventReader(({ name, data }) => events.push(`${name} ${data}`));
      for (const chunk of chunks) reader.push(chunk);
      return events;
    };
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
        const filter = eventFilter((event) => event);
        const passed = cut(text, at).map((each) => filter.push(Buffer.from(each)));
        expect(Buffer.concat([...passed, filter.end()]).toString()).toBe(text);
      }),
    );
  });
});
