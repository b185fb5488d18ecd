import { existsSync, readdirSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { expect, it } from "vitest";

// A unit test stands at the path of what it tests: test/unit/a/b.test.ts tests src/a/b.ts (or b.sh, b.py) or the folder
// src/a/b. Further tests of the same file add their topic: test/unit/a/b.crash.test.ts.

/** Tests of the whole tree, which have no counterpart. */
const wholeTree = ["agent-type-names", "architecture", "layers", "lockfile", "mirror", "reference", "root-commands"];

const tests = readdirSync("test/unit", { recursive: true, encoding: "utf8" })
  .filter((path) => path.endsWith(".test.ts"))
  .map((path) => path.replace(/\.test\.ts$/, ""));

const sources = readdirSync("src", { recursive: true, encoding: "utf8" });

/** The path of the tested file without its extension. */
const testedBy = (test: string): string => join(dirname(test), basename(test).replace(/\..*/, ""));
const namesOf = (path: string): string => join(dirname(path), basename(path).replace(/\.\w+$/, ""));
const known = new Set(sources.flatMap((path) => [path, namesOf(path)]));

it("every unit test stands at the path of what it tests", () => {
  const wrong = tests.filter((test) => !known.has(testedBy(test)) && !wholeTree.includes(test)).map(advice);
  expect(wrong.join("\n")).toBe("");
});

it("every test of the whole tree is there", () => {
  expect(wholeTree.filter((name) => !existsSync(`test/unit/${name}.test.ts`))).toEqual([]);
});

/** The likely new place: a file of that name elsewhere. */
function advice(test: string): string {
  const name = basename(testedBy(test));
  const others = sources.filter((path) => basename(namesOf(path)) === name);
  const to = others[0]
    ? `test/unit/${namesOf(others[0])}.test.ts`
    : "test/unit/<path of the tested file below src>.test.ts";
  return `test/unit/${test}.test.ts: there is no src/${testedBy(test)}.* and no such folder; git mv it to ${to}`;
}
