// Bundles clm into dist/: one small entry, everything else in chunks that are loaded when they are needed.
import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { chmod, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { build } from "esbuild";
import { parse } from "yaml";

// Elsewhere when somebody is using the one in dist.
const outdir = process.env.CLM_DIST ?? "dist";
const { version } = JSON.parse(await readFile("package.json", "utf8"));

/** Of all the code: what one build has worked out and kept is of no use to another. */
function digestOf(folder) {
  const digest = createHash("sha256");
  for (const file of readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((each) => each.isFile())
    .map(({ parentPath, name }) => join(parentPath, name))
    .sort()) {
    digest.update(`${file}\0`).update(readFileSync(file));
  }
  return digest.digest("hex").slice(0, 16);
}

/** `import text from "./library.sh?raw"`: the file's text, as Vite does it in the tests. */
export const rawText = {
  name: "raw-text",
  setup(builder) {
    builder.onResolve({ filter: /\?raw$/ }, async ({ path, resolveDir }) => ({
      path: new URL(path.replace(/\?raw$/, ""), `file://${resolveDir}/`).pathname,
      namespace: "raw-text",
    }));
    builder.onLoad({ filter: /.*/, namespace: "raw-text" }, async ({ path }) => {
      const text = await readFile(path, "utf8");
      // JSON is YAML too, and is read in a hundredth of the time.
      return { contents: path.endsWith(".yaml") ? JSON.stringify(parse(text, { merge: true })) : text, loader: "text" };
    });
  },
};

/** Commander loads child_process (4 ms of every start) for subcommands that are programs of their own; we have none. */
const noChildPrograms = {
  name: "no-child-programs",
  setup(builder) {
    builder.onResolve({ filter: /^node:child_process$/ }, ({ path, importer }) =>
      importer.includes("/node_modules/commander/") ? { path, namespace: "unused" } : undefined,
    );
    builder.onLoad({ filter: /.*/, namespace: "unused" }, () => ({ contents: "module.exports = {};" }));
  },
};

/** What a bundle of ours needs, wherever it is built. */
export const bundling = {
  bundle: true,
  platform: "node",
  target: "node20.19",
  plugins: [rawText, noChildPrograms],
  // ssh2 looks for native parts and does without them.
  external: ["cpu-features", "*.node"],
  define: { __CLM_VERSION__: JSON.stringify(version), __CLM_BUILD__: JSON.stringify(digestOf("src")) },
  logLevel: "warning",
};

/**
 * esbuild splits only ES modules, and Node starts CommonJS faster: a tenth of a bare start, which is what every command
 * pays. So the first pass splits and the second turns each part into CommonJS.
 */
async function buildClm() {
  const parts = await mkdtemp(join(tmpdir(), "clm-build-"));
  await build({
    ...bundling,
    format: "esm",
    entryPoints: { clm: "src/main.ts" },
    outdir: parts,
    splitting: true,
    chunkNames: "parts/[name]-[hash]",
  });
  await rm(outdir, { recursive: true, force: true });
  await build({
    entryPoints: [`${parts}/**/*.js`],
    outbase: parts,
    outdir,
    platform: "node",
    target: "node20.19",
    format: "cjs",
    minify: true,
    supported: { "dynamic-import": false },
    logLevel: "error",
  });
  await writeFile(join(outdir, "package.json"), '{ "type": "commonjs" }\n');
  await chmod(join(outdir, "clm.js"), 0o755);
  await rm(parts, { recursive: true });
}

if (import.meta.url === `file://${process.argv[1]}`) await buildClm();
