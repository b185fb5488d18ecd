// Bundles clm into dist/: a small entry, and chunks that are loaded on demand.
import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { chmod, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { build } from "esbuild";
import { parse } from "yaml";
import { agentTypes } from "./agent-types.mjs";
import { cacheCode } from "./code-cache.mjs";

// Another directory, for when dist is in use.
const outdir = process.env.CLM_DIST ?? "dist";
const { version } = JSON.parse(await readFile("package.json", "utf8"));

/** A digest of all code: caches of one build are invalid for another. */
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

/** `import text from "./library.sh?raw"` gives the file's text, as with Vite in the tests. */
export const rawText = {
  name: "raw-text",
  setup(builder) {
    builder.onResolve({ filter: /\?raw$/ }, async ({ path, resolveDir }) => ({
      path: new URL(path.replace(/\?raw$/, ""), `file://${resolveDir}/`).pathname,
      namespace: "raw-text",
    }));
    builder.onLoad({ filter: /.*/, namespace: "raw-text" }, async ({ path }) => {
      const text = await readFile(path, "utf8");
      // JSON is YAML too, and parses in a hundredth of the time.
      return { contents: path.endsWith(".yaml") ? JSON.stringify(parse(text, { merge: true })) : text, loader: "text" };
    });
  },
};

/** Commander loads child_process (4 ms of every help page) for executable subcommands, which clm does not have. */
const noChildPrograms = {
  name: "no-child-programs",
  setup(builder) {
    builder.onResolve({ filter: /^node:child_process$/ }, ({ path, importer }) =>
      importer.includes("/node_modules/commander/") ? { path, namespace: "unused" } : undefined,
    );
    builder.onLoad({ filter: /.*/, namespace: "unused" }, () => ({ contents: "module.exports = {};" }));
  },
};

/** The options of every bundle. */
export const bundling = {
  bundle: true,
  platform: "node",
  target: "node20.19",
  plugins: [agentTypes, rawText, noChildPrograms],
  // ssh2 works without its optional native parts.
  external: ["cpu-features", "*.node"],
  define: { __CLM_VERSION__: JSON.stringify(version), __CLM_BUILD__: JSON.stringify(digestOf("src")) },
  logLevel: "warning",
};

/** The sources that nearly every command needs, in one file: opening a small file takes Node as long as running it. */
const startsWith = ["src/cli/process.ts", "src/cli/host/commands.ts", "src/cli/host/list.ts"];

/** The chunks that these sources load, directly or indirectly. */
function loadedWith(outputs, sources) {
  const found = new Set();
  const visit = (part) => {
    if (found.has(part)) return;
    found.add(part);
    for (const { path, kind } of outputs[part]?.imports ?? []) if (kind === "import-statement") visit(path);
  };
  for (const [part, { entryPoint }] of Object.entries(outputs)) if (sources.includes(entryPoint)) visit(part);
  return new Set([...found].filter((part) => part in outputs));
}

/** Options to bundle these parts and keep the others external. */
const onlyThese = (parts) => ({
  bundle: true,
  plugins: [
    {
      name: "the-others-stay-outside",
      setup(builder) {
        builder.onResolve({ filter: /^\.\// }, ({ path, kind }) =>
          kind === "dynamic-import" || !parts.includes(basename(path)) ? { path, external: true } : undefined,
        );
      },
    },
  ],
});

/**
 * esbuild splits only ES modules, and Node starts CommonJS faster, by a tenth of a bare start. So the first pass
 * splits, and the second converts the parts to CommonJS: those of the start into one file, the others one by one.
 */
async function buildClm() {
  const split = await mkdtemp(join(tmpdir(), "clm-build-"));
  const { metafile } = await build({
    ...bundling,
    format: "esm",
    entryPoints: { clm: "src/main.ts" },
    outdir: split,
    splitting: true,
    chunkNames: "parts/[name]-[hash]",
    metafile: true,
  });
  await rm(outdir, { recursive: true, force: true });
  const named = Object.fromEntries(Object.entries(metafile.outputs).map(([path, output]) => [basename(path), output]));
  for (const output of Object.values(named)) for (const each of output.imports) each.path = basename(each.path);
  const start = [...loadedWith(named, startsWith)];
  const idOf = (part) => part.replace(/\W/g, "_");

  const placeIn = (folder, part) => (part === "clm.js" ? join(folder, part) : join(folder, "parts", part));
  const plain = {
    platform: "node",
    target: "node20.19",
    format: "cjs",
    minify: true,
    logLevel: "error",
    supported: { "dynamic-import": false },
  };
  await build({
    ...plain,
    stdin: {
      contents: start.map((part) => `export * as ${idOf(part)} from "./${part}";`).join("\n"),
      resolveDir: join(split, "parts"),
    },
    ...onlyThese(start),
    outfile: join(outdir, "parts/start.js"),
  });
  // The entry includes its own few dependencies: a command that it answers alone loads no other file.
  await build({
    ...plain,
    ...onlyThese([...loadedWith(named, ["src/main.ts"])]),
    entryPoints: [join(split, "clm.js")],
    outdir,
  });
  const others = Object.keys(named).filter((part) => part !== "clm.js" && !start.includes(part));
  await build({ ...plain, entryPoints: others.map((part) => placeIn(split, part)), outbase: split, outdir });
  for (const part of ["clm.js", "start.js", ...others]) {
    const file = placeIn(outdir, part);
    const text = await readFile(file, "utf8");
    const require = /require\("(\.\/(?:parts\/)?)([^"/]+)"\)/g;
    const joined = text.replace(require, (whole, folder, part) =>
      start.includes(part) ? `require("${folder}start.js").${idOf(part)}` : whole,
    );
    await writeFile(file, joined);
  }
  await writeFile(join(outdir, "package.json"), '{ "type": "commonjs" }\n');
  await chmod(join(outdir, "clm.js"), 0o755);
  await cacheCode(outdir, "start", ["host", "list"]);
  await rm(split, { recursive: true });
}

if (import.meta.url === `file://${process.argv[1]}`) await buildClm();
