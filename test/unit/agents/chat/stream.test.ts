import { readFileSync } from "node:fs";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { eventReader } from "../../../../src/agents/chat/events.js";
import { streamReader } from "../../../../src/agents/chat/stream.js";
import { manifestFailures as forms } from "./forms.js";

interface Case {
  about: string;
  stream: string;
  headers?: Record<string, string>;
  shown: string;
  tools?: string[][];
  ends: object;
}

const cases: Case[] = parse(readFileSync("test/cases/chat/stream.yaml", "utf8"));

function read({ stream, headers = {} }: Case, chunks: string[] = [stream]) {
  let shown = "";
  const tools: string[][] = [];
  const reader = streamReader({
    headers,
    forms,
    onPiece: (piece) => {
      if ("text" in piece) shown += piece.text;
      else tools.push([piece.tool, piece.label, piece.status]);
    },
  });
  for (const chunk of chunks) reader.push(chunk);
  const { failure, ...ends } = reader.end();
  return { ends: failure ? { ...ends, failure: failure.text, cause: failure.cause } : ends, shown, tools };
}

describe("a streamed answer", () => {
  it.each(cases.map((each) => [each.about, each] as const))("%s", (_about, each) => {
    const { ends, shown, tools } = read(each);
    expect(ends).toMatchObject(each.ends);
    expect({ shown, tools }).toEqual({ shown: each.shown, tools: each.tools ?? [] });
  });

  it("is the same wherever it is cut", () => {
    const one = fc.record({ which: fc.nat(cases.length - 1), cuts: fc.array(fc.nat(400), { maxLength: 12 }) });
    fc.assert(
      fc.property(one, ({ which, cuts }) => {
        const each = cases[which] as Case;
        const paths = [0, ...cuts.map((at) => at % (each.stream.length + 1)).sort((a, b) => a - b), each.stream.length];
        const chunks = paths.slice(1).map((to, at) => each.stream.slice(paths[at], to));
        expect(read(each, chunks)).toEqual(read(each));
      }),
    );
  });
});

describe("an answer without an end is not listened to for ever", () => {
  const megabyte = "x".repeat(1024 * 1024);
  it.each([
    ["one line", "", megabyte],
    ["one event", "", `data: ${megabyte}\n`],
    ["one text", "", `data: {"choices":[{"delta":{"content":"${megabyte}"}}]}\n\n`],
    ["tools", "", `event: hermes.tool.progress\ndata: {"tool":"${megabyte}"}\n\n`],
    ["a failure", 'data: {"choices":[{"delta":{"content":"API call failed after "}}]}\n\n', `${megabyte}`],
  ])("%s", (_about, first, part) => {
    const reader = streamReader({ headers: {}, forms, onPiece: () => {} });
    expect(reader.push(first)).toBe(true);
    let parts = 0;
    while (parts < 100 && reader.push(part)) parts++;
    expect(parts).toBeLessThan(100);
    expect(reader.end()).toMatchObject({ failure: { text: expect.stringContaining("no end") } });
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
    const seen: string[][] = [];
    const reader = eventReader(({ name, data }) => seen.push([name, data]));
    for (let at = 0; at < text.length; at += size) reader.push(text.slice(at, at + size));
    expect(seen).toEqual(found);
  }
});
