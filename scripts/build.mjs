// Bundles clm into dist/: one small entry, everything else in chunks that are loaded when they are needed.
import { readFile, rm } from "node:fs/promises";
import { build } from "esbuild";

const { version } = JSON.parse(await readFile("package.json", "utf8"));

/** `import text from "./library.sh?raw"`: the file's text, as Vite does it in the tests. */
export const rawText = {
  name: "raw-text",
  setup(builder) {
    builder.onResolve({ filter: /\?raw$/ }, async ({ path, resolveDir }) => ({
      path: new URL(path.replace(/\?raw$/, ""), `file://${resolveDir}/`).pathname,
      namespace: "raw-text",
    }));
    builder.onLoad({ filter: /.*/, namespace: "raw-text" }, async ({ path }) => ({
      contents: await readFile(path, "utf8"),
      loader: "text",
    }));
  },
};

/** What a bundle of ours needs, wherever it is built. */
export const bundling = {
  bundle: true,
  platform: "node",
  target: "node20.19",
  format: "esm",
  plugins: [rawText],
  // ssh2 looks for native parts and does without them. It and others are CommonJS and want require and __dirname.
  external: ["cpu-features", "*.node"],
  banner: {
    js: 'import { createRequire as clmRequire } from "node:module"; const require = clmRequire(import.meta.url);',
  },
  define: { __CLM_VERSION__: JSON.stringify(version), __dirname: "import.meta.dirname" },
  logLevel: "warning",
};

if (import.meta.url === `file://${process.argv[1]}`) {
  await rm("dist", { recursive: true, force: true });
  await build({
    ...bundling,
    entryPoints: { clm: "src/main.ts" },
    outdir: "dist",
    splitting: true,
    minify: true,
    chunkNames: "parts/[name]-[hash]",
  });
}
