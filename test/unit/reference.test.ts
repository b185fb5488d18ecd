import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { reference } from "../../scripts/reference.js";
import { everyNoun } from "../../src/cli/nouns.js";

it("docs/reference.md matches the declarations; npm run docs writes it", async () => {
  expect(readFileSync("docs/reference.md", "utf8")).toBe(reference(await everyNoun()));
});
