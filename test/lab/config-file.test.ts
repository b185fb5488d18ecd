import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { stringify } from "yaml";
import type { Tree } from "../../src/agents/files/tree.js";
import { mergeConfig } from "../../src/agents/files/yaml-merge.js";
import type { Connection } from "../../src/remote/connection.js";
import { run } from "../../src/remote/run.js";
import { mergeDeep } from "../../src/text/record.js";
import { connectTo } from "./connect.js";

const shared = inject("fleetHome");

const text = fc.oneof(
  fc.constantFrom(...["yes", "No", "on", "OFF", "y", "n", "null", "~", "", "true", "=", "<<", ".", "-", "---", "..."]),
  fc.constantFrom(
    ...["1", "-1", "1e3", "1.5e3", "0o7", "07", "0x1f", "0b1", "8:30", "1_0", ".5", "+1", ".inf", ".nan"],
  ),
  fc.constantFrom(
    ...["2024-01-01", "2024-01-01 10:00:00", "2026.7.1", "é🜛", "\u00a0", "a\tb", "a\n\n b\n", `$${"{KEY}"}`],
  ),
  fc.string({ unit: fc.constantFrom(..."ab01:# -+.'\"\\{}[],&*!|>%@`=?~/\n"), maxLength: 8 }),
  fc.string({ unit: "grapheme-ascii", maxLength: 60 }),
);
const leaf = fc.oneof(
  { weight: 4, arbitrary: text },
  fc.constantFrom<unknown>(true, false, null, 0, -1, 1.5, 1e30, 5e-7, 8642),
  fc.array(text, { maxLength: 3 }),
  fc.array(fc.dictionary(text, text, { maxKeys: 2, noNullPrototype: true }), { maxLength: 2 }),
);
const { tree } = fc.letrec((tie) => ({
  tree: fc.dictionary(fc.oneof(fc.constantFrom("a", "b", "c", "d"), text), fc.oneof(leaf, leaf, tie("tree")), {
    maxKeys: 4,
    noNullPrototype: true,
  }),
})) as { tree: fc.Arbitrary<Tree> };

const reader = `
import json, sys, yaml
def read(text):
    try: return yaml.safe_load(text) or {}
    except yaml.YAMLError as error: return {"cannot be read": str(error), "text": text}
print(json.dumps([read(each) for each in json.load(sys.stdin)], default=str))
`;

describe.each(["trial-1", "trial13-1"])("config.yaml on %s", (name) => {
  let connection: Connection;

  beforeAll(async () => {
    connection = await connectTo(shared, name);
    await run(connection, "cat > /tmp/reader.py", { stdin: reader });
  });
  afterAll(async () => {
    await run(connection, "rm /tmp/reader.py");
    connection.close();
  });

  const readBack = async (texts: string[]): Promise<Tree[]> => {
    const { code, stdout, stderr } = await run(connection, "python3 /tmp/reader.py", { stdin: JSON.stringify(texts) });
    expect([code, stderr]).toEqual([0, ""]);
    return JSON.parse(stdout);
  };
  const numRuns = process.env.CLM_TEST_EXHAUSTIVE ? 5000 : 400;

  it("is read by Hermes as intended when it is new", async () => {
    const configs = fc.sample(tree, { seed: 1, numRuns });
    const read = await readBack(configs.map((config) => mergeConfig(undefined, config, [])));
    configs.forEach((config, index) => void expect(read[index]).toEqual(config));
  });

  it("keeps the user's settings and gains ours when it is merged", async () => {
    const pairs = fc.sample(fc.tuple(tree, tree), { seed: 2, numRuns });
    // As Hermes and as people write it.
    const texts = pairs.map(([content], index) =>
      stringify(content, { version: "1.1", indentSeq: index % 2 === 0, lineWidth: index % 3 === 0 ? 80 : 0 }),
    );
    const before = await readBack(texts);
    const readable = pairs.flatMap(([, config], index) => {
      const [text = "", said = {}] = [texts[index], before[index]];
      return "cannot be read" in said ? [] : [{ text, said, config }];
    });
    expect(readable.length).toBeGreaterThan(numRuns / 2);
    const after = await readBack(readable.map(({ text, config }) => mergeConfig(text, config, [])));
    readable.forEach(({ said, config }, index) => void expect(after[index]).toEqual(mergeDeep(said, config)));
  });
});
