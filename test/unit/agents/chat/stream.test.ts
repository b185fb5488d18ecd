import { readFileSync } from "node:fs";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import type { ReaderOptions } from "../../../../src/agents/chat/dialect.js";
import chat from "../../../../src/agents/hermes/chat/chat-dialect.js";
import type { ResolvedAgent } from "../../../../src/agents/plan/resolved-agent.js";
import { hermesManifest as manifest } from "./forms.js";

interface Case {
  about: string;
  stream: string;
  headers?: Record<string, string>;
  shown: string;
  tools?: string[][];
  ends: object;
}

const cases: Case[] = parse(readFileSync("test/cases/chat/stream.yaml", "utf8"));

const readerFor = (options: Omit<ReaderOptions, "streams">) =>
  chat.reader({ manifest } as ResolvedAgent, { streams: true, ...options });

function read({ stream, headers = {} }: Case, chunks: Buffer[] = [Buffer.from(stream)]) {
  let shown = "";
  const tools: string[][] = [];
  const reader = readerFor({
    headers,
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
        const bytes = Buffer.from(each.stream);
        const paths = [0, ...cuts.map((at) => at % (bytes.length + 1)).sort((a, b) => a - b), bytes.length];
        const chunks = paths.slice(1).map((to, at) => bytes.subarray(paths[at], to));
        expect(read(each, chunks)).toEqual(read(each));
      }),
    );
  });
});

describe("an endless answer is cut", () => {
  const megabyte = "x".repeat(1024 * 1024);
  it.each([
    ["one line", "", megabyte],
    ["one event", "", `data: ${megabyte}\n`],
    ["one text", "", `data: {"choices":[{"delta":{"content":"${megabyte}"}}]}\n\n`],
    ["tools", "", `event: hermes.tool.progress\ndata: {"tool":"${megabyte}"}\n\n`],
    ["a failure", 'data: {"choices":[{"delta":{"content":"API call failed after "}}]}\n\n', `${megabyte}`],
  ])("%s", (_about, first, part) => {
    const reader = readerFor({ headers: {}, onPiece: () => {} });
    expect(reader.push(Buffer.from(first))).toBe(true);
    let parts = 0;
    while (parts < 100 && reader.push(Buffer.from(part))) parts++;
    expect(parts).toBeLessThan(100);
    expect(reader.end()).toMatchObject({ failure: { text: expect.stringContaining("no end") } });
  });
});
