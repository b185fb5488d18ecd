// npm run docs: writes docs/reference.md from the declarations of the commands.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { build } from "esbuild";
import { bundling } from "./build.mjs";

const folder = mkdtempSync(join(tmpdir(), "clm-docs-"));
const outfile = join(folder, "reference.mjs");
await build({ ...bundling, entryPoints: ["src/cli/reference.ts"], outfile });
const { reference } = await import(outfile);
writeFileSync("docs/reference.md", reference());
rmSync(folder, { recursive: true });
