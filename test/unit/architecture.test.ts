import { existsSync, readFileSync } from "node:fs";
import { expect, it } from "vitest";

const page = readFileSync("docs/architecture.md", "utf8");

/** Files and folders that the page names, except patterns such as `src/cli/<noun>/`. */
const named = [...page.matchAll(/`((?:src|test|scripts|templates|manifests)\/[\w./-]+)`/g)].map(
  ([, path = ""]) => path,
);

it.each([...new Set(named)])("docs/architecture.md names %s, which is there", (path) => {
  expect(existsSync(path)).toBe(true);
});

it("the walk of agent configure has at most 22 hops", () => {
  const hops = [...page.matchAll(/^\| (\d+) \| `src\//gm)].map(([, number]) => Number(number));
  expect(hops).toEqual(Array.from({ length: hops.length }, (_, at) => at + 1));
  expect(hops.length).toBeGreaterThan(15);
  expect(hops.length).toBeLessThanOrEqual(22);
});
