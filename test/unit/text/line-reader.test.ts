import fc from "fast-check";
import { expect, it } from "vitest";
import { LineReader } from "../../../src/text/line-reader.js";

function read(chunks: Buffer[], maxBytes = 1000): string[] {
  const lines: string[] = [];
  const reader = new LineReader((line) => lines.push(line), { maxBytes });
  for (const chunk of chunks) reader.push(chunk);
  reader.end();
  return lines;
}

it("gives the same lines however the bytes are cut", () => {
  fc.assert(
    fc.property(fc.array(fc.string({ unit: "grapheme" })), fc.array(fc.nat(40)), (texts, cuts) => {
      const lines = texts.map((text) => text.replaceAll("\n", "-"));
      let rest = Buffer.from(lines.map((line) => `${line}\n`).join(""));
      const chunks: Buffer[] = [];
      for (const cut of cuts) {
        chunks.push(rest.subarray(0, cut));
        rest = rest.subarray(cut);
      }
      expect(read([...chunks, rest], 10_000)).toEqual(lines);
    }),
  );
});

it("keeps the beginning of a line that is too long, and the next one whole", () => {
  const long = Array.from({ length: 50 }, () => Buffer.from("0123456789"));
  expect(read([...long, Buffer.from("\nnext\n")], 12)).toEqual(["012345678901", "next"]);
});

it("takes a last line without its end", () => {
  expect(read([Buffer.from("a\n\nb")])).toEqual(["a", "", "b"]);
  expect(read([Buffer.from("a\n")])).toEqual(["a"]);
});

it("ends a line at a carriage return where asked to", () => {
  const lines: string[] = [];
  const reader = new LineReader((line) => lines.push(line), { maxBytes: 100, carriageReturns: true });
  for (const chunk of ["10%\r20", "%\rdone\n"]) reader.push(Buffer.from(chunk));
  expect(lines).toEqual(["10%", "20%", "done"]);
});
