import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { type BuildOptions, build } from "esbuild";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { bundling } from "../../scripts/build.mjs";
import { type Era, filesIn, oldDirectories } from "../unit/flows/import/old-directory.js";
import { scratchDirectories } from "../unit/state/scratch.js";

const old = oldDirectories();
const scratch = scratchDirectories();
const work = mkdtempSync(join(tmpdir(), "clm-killed-"));
const program = join(work, "clm.cjs");

beforeAll(async () => {
  await build({
    ...(bundling as BuildOptions),
    format: "cjs",
    entryPoints: ["src/main.ts"],
    outfile: program,
    supported: { "dynamic-import": false },
  });
}, 60_000);
afterAll(() => rmSync(work, { recursive: true }));

// The steps that change the state. All others are locks, audit lines and output.
const telling = process.env.CLM_TEST_EXHAUSTIVE ? /./ : /^replace (.*json|xclm|clawrium|known_hosts)|^say/;

function importIn(home: string, from: string, env: Record<string, string> = {}) {
  const args = ["--require", resolve("test/faults/steps.cjs"), program, "import", "clawrium", "--from", from];
  return spawnSync(process.execPath, [...args, "--no-check", "--yes", "--config-dir", home], {
    env: { ...process.env, NO_COLOR: "1", ...env },
    encoding: "utf8",
  });
}

/** The end state, without start times and backup copies. */
const outcome = (home: string) =>
  JSON.stringify(filesIn(home, /^(audit|locks|operations|backups|\.)/))
    .replaceAll(home, "@")
    .replace(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/g, "now");

const ways: [name: string, era: Era, paths: () => { home: string; from: string }][] = [
  ["in place", "head-era", () => (({ home }) => ({ home, from: home }))({ home: old("head-era") })],
  ["from another directory", "clm-era", () => ({ home: scratch(), from: old("clm-era") })],
];

describe.each(ways)("killed %s, %s", (_, __, paths) => {
  it("at every step in turn and run again, it ends like an undisturbed run", { timeout: 120_000 }, () => {
    const whole = paths();
    const list = join(work, "steps.json");
    const undisturbed = importIn(whole.home, whole.from, { CLM_STEPS_TO: list });
    expect([undisturbed.status, undisturbed.signal]).toEqual([0, null]);
    const steps: string[] = JSON.parse(readFileSync(list, "utf8"));
    for (const file of ["secrets.json", "providers.json", "hosts.json"]) expect(steps).toContain(`replace ${file}`);
    // A host is recorded only after everything else of it is written.
    expect(steps.indexOf("replace hosts.json")).toBeGreaterThan(steps.indexOf("replace secrets.json"));
    expect(steps.indexOf("replace hosts.json")).toBeGreaterThan(steps.indexOf("replace providers.json"));

    for (const [index, step] of steps.entries()) {
      if (!telling.test(step)) continue;
      const { home, from } = paths();
      const killed = importIn(home, from, { CLM_STEP: String(index + 1), CLM_STEP_DO: "kill" });
      expect([step, killed.signal]).toEqual([step, "SIGKILL"]);
      const again = importIn(home, from);
      expect([step, again.status, again.stderr]).toEqual([step, 0, expect.not.stringContaining("error")]);
      expect([step, outcome(home)]).toEqual([step, outcome(whole.home)]);
    }
  });
});
