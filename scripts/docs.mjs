// npm run docs: writes docs/reference.md from the declarations of the commands.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { build } from "esbuild";
import { bundling } from "./build.mjs";

const folder = mkdtempSync(join(tmpdir(), "clm-docs-"));
const outfile = join(folder, "reference.cjs");
const entry = 'export { everyNoun } from "./src/cli/nouns.ts"; export { reference } from "./scripts/reference.ts";';
await build({ ...bundling, format: "cjs", stdin: { contents: entry, resolveDir: "." }, outfile });
const { everyNoun, reference } = createRequire(import.meta.url)(outfile);
writeFileSync("docs/reference.md", reference(await everyNoun()));
rmSync(folder, { recursive: true });
