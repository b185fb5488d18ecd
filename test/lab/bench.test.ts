import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, it } from "vitest";
import { clm, runProgram } from "./clm.js";

// dist is in use by other tests; the benchmark builds into its own folder.
const folder = mkdtempSync(join(tmpdir(), "clm-bench-test-"));
const env = { CLM_DIST: join(folder, "dist"), CLM_LAB_DIR: join(folder, "labs") };

afterAll(async () => {
  await clm(["lab", "down", "--all"], { home: join(folder, "home"), env: { CLM_LAB_DIR: env.CLM_LAB_DIR } });
  rmSync(folder, { recursive: true });
});

it("every row of npm run bench works, at its smallest size", async () => {
  const { code, stdout, stderr } = await runProgram("npm", ["run", "bench", "--", "--smoke"], env);
  expect(code, stdout + stderr).toBe(0);
  // One of the lines of each row that needs no peer.
  for (const line of [
    ...["clm --version", "clm --help", "clm host list", "list 1,000 agents", "one change in 1,000 agents"],
    ...["the same change, in process", "one host asked", "20 hosts asked", "configure, nothing to change"],
    ...["diff, 20 agents", "logs -f, from host to screen", "chat, a message to the first byte"],
    ...["gateway, a small request, p50", "gateway, small requests", "gateway, memory after"],
  ]) {
    expect(stdout).toMatch(new RegExp(`^${line}.* (ms|/s|MB) `, "m"));
  }
  const rows = [...readFileSync("bench/run.mjs", "utf8").matchAll(/"\.\/rows\/(\w+)\.mjs"/g)].map(([, name]) => name);
  expect(rows.length).toBeGreaterThan(7);
  for (const row of rows) expect(stderr).toContain(`measuring ${row} …`);
  expect(stdout).not.toMatch(/NaN|undefined/);
}, 600_000);
