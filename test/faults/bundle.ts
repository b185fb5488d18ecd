import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type BuildOptions, build } from "esbuild";
import { bundling } from "../../scripts/build.mjs";

// Scripts use top-level await, so they are ES modules; ssh2 is CommonJS and needs these two.
const requireForParts = 'import { createRequire } from "node:module"; const require = createRequire(import.meta.url);';

/** Bundles a TypeScript file as clm is bundled, to run as a process. Call `remove` at the end. */
export async function bundleScript(entry: string): Promise<{ script: string; directory: string; remove: () => void }> {
  const directory = mkdtempSync(join(tmpdir(), "clm-child-"));
  const script = join(directory, "child.mjs");
  await build({
    ...(bundling as BuildOptions),
    define: { ...bundling.define, __dirname: "import.meta.dirname" },
    banner: { js: requireForParts },
    format: "esm",
    entryPoints: [entry],
    outfile: script,
  });
  return { script, directory, remove: () => rmSync(directory, { recursive: true, force: true }) };
}
