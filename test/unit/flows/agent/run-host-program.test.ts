import { Readable } from "node:stream";
import { expect, it } from "vitest";
import { linesOf } from "../../../../src/flows/agent/run-host-program.js";
import type { Agent } from "../../../../src/state/agents.js";

const agent = { name: "ada", ref: "ada", host: { name: "wolf" } } as Agent;
const lines = async (chunks: string[], longest?: number) => {
  const all: string[] = [];
  for await (const line of linesOf(Readable.from(chunks.map((each) => Buffer.from(each))), agent, longest))
    all.push(line);
  return all;
};

it("lines may be cut anywhere, and many of them be longer together than one may be", async () => {
  expect(await lines(["ab", "c\nde\n", "fghij", "\n", "rest"], 6)).toEqual(["abc", "de", "fghij"]);
});

it("a line that does not end is not waited for", async () => {
  await expect(lines(["abc\n", "1234", "567", "8"], 6)).rejects.toThrow("a line over the size limit");
});
