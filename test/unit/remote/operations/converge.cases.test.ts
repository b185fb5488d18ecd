import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { parse } from "yaml";
import { converge } from "../../../../src/remote/operations/converge.js";
import { absent, dir, file, type Operation, run } from "../../../../src/remote/operations/operation.js";
import type { Report, Result } from "../../../../src/remote/operations/report.js";
import { localShells, workshop } from "./local-shell.js";
import { me, plant, survey, type Tree } from "./tree.js";

interface Case {
  name: string;
  needs?: "root";
  given?: Tree;
  apply: Record<string, { path?: string; owner?: string; [more: string]: unknown }>[];
  results: string[];
  why?: string;
  cause?: string;
  then: Tree;
  /** When the second time is not all "ok". */
  again?: string[];
  afterwards?: Tree;
}

const constructors: Record<string, (wish: never) => Operation> = {
  file: ({ path, ...wish }: { path: string } & Parameters<typeof file>[1]) => file(path, wish),
  dir: ({ path, ...wish }: { path: string } & Parameters<typeof dir>[1]) => dir(path, wish),
  absent,
  run,
};

function operationsOf({ apply }: Case): Operation[] {
  return apply.map((entry) => {
    const [kind = "", wish = {}] = Object.entries(entry)[0] ?? [];
    const defaults = kind === "file" || kind === "dir" ? { owner: me } : kind === "run" ? { as: me } : {};
    return (constructors[kind] as (wish: object) => Operation)({ ...defaults, ...wish });
  });
}

/** Replaces ROOT and ./ by the test's directory, and TEMP(name) by the name of a temporary file. */
function placed(text: string, root: string): Case[] {
  const key = (name: string) => createHash("sha256").update(join(root, name)).digest("hex").slice(0, 16);
  const at = (value: unknown): unknown => {
    if (typeof value === "string") return value.replace(/^\.\//, `${root}/`).replaceAll("ROOT", root);
    if (Array.isArray(value)) return value.map(at);
    if (value === null || typeof value !== "object") return value;
    const name = (words: string) => words.replace(/TEMP\((.*)\)/, (_, of: string) => `.clm-${key(of)}`);
    return Object.fromEntries(Object.entries(value).map(([words, inner]) => [name(words), at(inner)]));
  };
  return at(parse(text)) as Case[];
}

const said = ({ status, differences }: Result) =>
  differences.length > 0 ? `${status}: ${differences.join(", ")}` : status;
const summary = (report: Report) => report.results.map(said);

const { shells, close } = localShells();
afterAll(close);
const folder = "test/cases/operations";

describe.each(shells)("under $name", (shell) => {
  describe.each(readdirSync(folder))("%s", (name) => {
    const text = readFileSync(join(folder, name), "utf8");
    const names = placed(text, "/").map((one, index) => ({ ...one, index }));

    it.concurrent.for(names)("$name", async ({ index, needs }, { skip }) => {
      skip(needs === "root" && me !== "root");
      const { root, close: leave } = workshop();
      try {
        const one = placed(text, root)[index] as Case;
        const operations = operationsOf(one);
        plant(root, one.given ?? {});
        const before = survey(root);

        const check = await converge(shell, operations, { mode: "check" });
        expect(check.results.map(({ status }) => status)).not.toContain("changed");
        expect(survey(root)).toEqual(before);

        const report = await converge(shell, operations, { mode: "apply" });
        expect([summary(report), report.failed?.why]).toEqual([
          one.results,
          one.why === undefined ? undefined : expect.stringContaining(one.why),
        ]);
        expect(report.failed?.cause).toBe(one.cause);
        expect(survey(root)).toEqual(one.then);

        if (report.failed) return;
        const again = await converge(shell, operations, { mode: "apply" });
        expect(summary(again)).toEqual(one.again ?? operations.map(() => "ok"));
        expect(survey(root)).toEqual(one.afterwards ?? one.then);
      } finally {
        leave();
      }
    });
  });
});
