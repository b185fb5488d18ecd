import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";

// An agent type is a folder, a manifest and its tests. No file elsewhere knows a type by name: flows, the gateway and the
// CLI reach it through the interface in src/agents/type.ts.

/** Where the name of a type may stand besides its own folder. */
const allowed = [
  // The stand-in for tests, and the import of another program's records.
  /^lab\//,
  /^flows\/import\//,
  // Clients of the gateway, one of which has the name of a runtime.
  /^cli\/gateway\/tools\/client-tools\.ts$/,
  // Examples in help texts.
  /^cli\/(.+\/)?commands\.ts$/,
];

/** A runtime of a type counts as part of the type. */
const partsOf: Record<string, string[]> = { hermes: ["codex"] };

/** Names that are ordinary words: only the path of the folder gives them away. */
const ordinaryWords = ["program"];

const types = readdirSync("src/agents").filter((name) => existsSync(join("src/agents", name, "type.ts")));

const patternsOf = (type: string): RegExp[] =>
  ordinaryWords.includes(type)
    ? [new RegExp(`agents/${type}/|"\\./${type}/`)]
    : [type, ...(partsOf[type] ?? [])].map((name) => new RegExp(name, "i"));

const files = readdirSync("src", { recursive: true, withFileTypes: true })
  .filter((entry) => entry.isFile())
  .map((entry) => join(entry.parentPath, entry.name).slice("src/".length));

/** What a file names, with the number of the first line that does: `hermes:12`. */
function namesIn(file: string): string[] {
  const others = types.filter((type) => !file.startsWith(`agents/${type}/`));
  const lines = [file, ...readFileSync(join("src", file), "utf8").split("\n")];
  return others.flatMap((type) =>
    patternsOf(type).flatMap((pattern) => {
      const at = lines.findIndex((line) => pattern.test(line));
      return at < 0 ? [] : [`${type}:${at}`];
    }),
  );
}

const naming = files
  .filter((file) => !allowed.some((pattern) => pattern.test(file)))
  .map((file) => ({ file, names: namesIn(file) }))
  .filter(({ names }) => names.length > 0);

it("no file outside a type's folder names the type", () => {
  const wrong = naming.map(({ file, names }) => `src/${file} ${names}`);
  expect(wrong, "reach the type through src/agents/type.ts, or move the code into the type's folder").toEqual([]);
});

it("finds the types that are there", () => {
  expect(types).toContain("hermes");
});
