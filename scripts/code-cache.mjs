// V8 takes as long to compile the start of clm as to run it. The compiled code is cached beside the source, for the V8
// that built it; any other version finds no such file, or refuses it, and compiles.
import { execFile } from "node:child_process";
import { mkdtemp, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { promisify } from "node:util";

/** Loads `<name>-code.js` as `require` would have loaded `<name>.js`. */
const loader = (name) => `"use strict";
const { readFileSync } = require("node:fs");
const { Script } = require("node:vm");
const filename = \`\${__dirname}/${name}-code.js\`;
const cache = \`\${__dirname}/${name}-\${process.versions.v8}-\${process.arch}.cache\`;
let cachedData;
try {
  cachedData = readFileSync(cache);
} catch {}
const source = \`(function (exports, require, module) {\${readFileSync(filename, "utf8")}\\n})\`;
const script = new Script(source, { filename, cachedData });
script.runInThisContext()(exports, require, module);
`;

/** Runs at the end of a command, so that the cache contains exactly the functions it used. */
const keep = `process.on("exit", () => require("node:fs").writeFileSync(cache, script.createCachedData()));\n`;

/** Makes a part of a build start from cached code. */
export async function cacheCode(outdir, name, command) {
  const file = resolve(outdir, "parts", `${name}.js`);
  await rename(file, file.replace(/\.js$/, "-code.js"));
  await writeFile(file, loader(name) + keep);
  const home = await mkdtemp(join(tmpdir(), "clm-build-"));
  const host = { name: "host", address: "192.0.2.1", labels: {}, added_at: "", sudo: "root", agents: {} };
  await writeFile(join(home, "hosts.json"), JSON.stringify({ version: 1, hosts: [host] }), { mode: 0o600 });
  try {
    await promisify(execFile)(process.execPath, [resolve(outdir, "clm.js"), ...command], {
      env: { ...process.env, CLM_HOME: home },
    });
  } finally {
    await rm(home, { recursive: true });
    await writeFile(file, loader(name));
  }
}
