import { PassThrough } from "node:stream";
import { describe, expect, it } from "vitest";
import { afterLine } from "../../../../../src/flows/agent/exec/exec.js";

describe("the stream after a line", () => {
  const heard = async (chunks: string[]) => {
    const stream = new PassThrough();
    const { rest, begun, before } = afterLine(stream, "proof-1");
    for (const chunk of chunks) stream.write(chunk);
    stream.end();
    let text = "";
    for await (const chunk of rest) text += chunk;
    return { text, begun: begun(), before: before() };
  };
  it.each<[string, string[], object]>([
    ["at once", ["proof-1\nhello"], { text: "hello", begun: true, before: "" }],
    ["in pieces", ["sys: x\npro", "of-1", "\nhel", "lo"], { text: "hello", begun: true, before: "sys: x" }],
    ["never", ["Failed to start\n"], { text: "", begun: false, before: "Failed to start" }],
    ["without its end", ["proof-1"], { text: "", begun: false, before: "proof-1" }],
    ["twice", ["proof-1\nproof-1\n"], { text: "proof-1\n", begun: true, before: "" }],
  ])("that comes %s", async (_, chunks, expected) => expect(await heard(chunks)).toEqual(expected));
});
