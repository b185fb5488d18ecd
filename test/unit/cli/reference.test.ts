import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { catalog } from "../../../src/cli/catalog.js";
import { reference } from "../../../src/cli/reference.js";

it("docs/reference.md says what the declarations say; npm run docs writes it", () => {
  expect(readFileSync("docs/reference.md", "utf8")).toBe(reference(catalog));
});
