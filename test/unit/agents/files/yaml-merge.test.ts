import { readFileSync } from "node:fs";
import { isDeepStrictEqual } from "node:util";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parse, stringify } from "yaml";
import { leavesOf, type Tree } from "../../../../src/agents/files/tree.js";
import { mergeConfig } from "../../../../src/agents/files/yaml-merge.js";

interface Case {
  name: string;
  before?: string;
  config?: Tree;
  gone?: string[];
  after?: string;
  same?: true;
  fault?: string;
}

const cases: Case[] = parse(readFileSync("test/cases/config/merge.yaml", "utf8"));

describe("config.yaml", () => {
  it.each(cases)("$name", ({ before, config = {}, gone = [], after, same, fault }) => {
    const merge = (text: string | undefined) => mergeConfig(text, config, gone);
    if (fault !== undefined) {
      const refused = expect.objectContaining({ fault: "bad-input", message: expect.stringContaining(fault) });
      expect(() => merge(before)).toThrow(refused);
      return;
    }
    const result = merge(before);
    expect(result).toBe(same ? before : after);
    expect(merge(result)).toBe(result);
  });

  const key = fc.constantFrom("model", "agent", "a", "b", "on", "x.y", "1", "é");
  const leaf = fc.oneof(
    fc.constantFrom<unknown>("x", "yes", "8:30", "1e3", "", "a: b", "#", "multi\nline\n", 0, -1.5, true, false, null),
    fc.string({ unit: fc.constantFrom(..."ab:# -'\"\\{}[],&*!|>%@`\n") }),
    fc.array(fc.constantFrom("a", "b"), { maxLength: 3 }),
  );
  const { tree } = fc.letrec((tie) => ({
    tree: fc.dictionary(key, fc.oneof({ depthSize: "small" }, leaf, tie("tree")), { maxKeys: 4 }),
  })) as { tree: fc.Arbitrary<Tree> };
  const read = (text: string): Tree => parse(text, { version: "1.1" }) ?? {};
  // The library that writes them for us now and then writes another tree, or nothing it can read.
  const file = fc
    .tuple(tree, fc.constantFrom(2, 4), fc.boolean(), fc.constantFrom("flow" as const, "any" as const))
    .map(([content, indent, indentSeq, collectionStyle]) => {
      const text = stringify(content, { version: "1.1", indent, indentSeq, collectionStyle });
      return { content, text };
    })
    .filter(({ content, text }) => {
      try {
        return isDeepStrictEqual(read(text), { ...content });
      } catch {
        return false;
      }
    })
    .map(({ text }) => text);
  const runs = process.env.CLM_TEST_EXHAUSTIVE ? 20_000 : 300;

  it("merged twice is merged once, whatever was there", () => {
    fc.assert(
      fc.property(file, tree, tree, (before, config, former) => {
        const gone = leavesOf(former).map(([path]) => path);
        const once = mergeConfig(before, config, gone);
        expect(mergeConfig(once, config, gone)).toBe(once);
      }),
      { seed: 1, numRuns: runs },
    );
  }, 600_000);

  it("has our values afterwards, and keeps every foreign leaf", () => {
    fc.assert(
      fc.property(file, tree, (before, config) => {
        const after = new Map(leavesOf(read(mergeConfig(before, config, []))));
        const ours = leavesOf(config);
        for (const [path, value] of ours) if (!isEmpty(value)) expect([path, after.get(path)]).toEqual([path, value]);
        const touches = (path: string) =>
          ours.some(([own]) => `${own}.`.startsWith(`${path}.`) || path.startsWith(`${own}.`));
        for (const [path, value] of leavesOf(read(before))) {
          if (!touches(path)) expect([path, after.get(path)]).toEqual([path, value]);
        }
      }),
      { seed: 2, numRuns: runs },
    );
  }, 600_000);

  it("is unchanged when it has our values already", () => {
    fc.assert(
      fc.property(file, (before) => {
        expect(mergeConfig(before, read(before), [])).toBe(before);
      }),
      { seed: 3, numRuns: runs },
    );
  }, 600_000);
});

const isEmpty = (value: unknown) => typeof value === "object" && value !== null && Object.keys(value).length === 0;
