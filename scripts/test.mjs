// npm test: everything, from a fresh clone. `unit` runs what needs no hosts, `exhaustive` leaves nothing to a sample.
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ensureModules, ensurePackages, ensureRoot, must } from "./setup.mjs";

const [scope = "all", ...more] = process.argv.slice(2);
ensureModules();
must("npx", ["biome", "check", "."]);
must("npx", ["tsc", "--noEmit"]);
must("node", ["scripts/build.mjs"]);

const hosts = scope !== "unit" && ensureRoot("npm test") && ensurePackages();
const reports = mkdtempSync(join(tmpdir(), "clm-test-"));
const report = join(reports, "report.json");
const { status } = spawnSync(
  "npx",
  [
    "vitest",
    "run",
    ...(hosts ? [] : ["--project", "unit"]),
    "--reporter=default",
    "--reporter=json",
    `--outputFile.json=${report}`,
    ...more,
  ],
  { stdio: "inherit", env: { ...process.env, ...(scope === "exhaustive" && { CLM_TEST_EXHAUSTIVE: "1" }) } },
);

const counts = JSON.parse(readFileSync(report, "utf8"));
rmSync(reports, { recursive: true });
console.log(`${counts.numPassedTests} passed, ${counts.numFailedTests} failed, ${counts.numPendingTests} skipped`);
if (scope !== "unit" && !hosts)
  console.error("The tests on real hosts did not run; see above. `npm run test:unit` runs only the others.");
process.exit(status || (scope !== "unit" && !hosts ? 1 : 0));
