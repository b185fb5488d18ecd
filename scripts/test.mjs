// npm test: everything, from a fresh clone. `unit` runs what needs no hosts, `exhaustive` leaves nothing to a sample.
import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ensureModules, ensurePackages, ensureRoot, must } from "./setup.mjs";
import { failedIn, fileOf, tellVerdict } from "./verdict.mjs";

const [scope = "all", ...more] = process.argv.slice(2);
ensureModules();
must("npx", ["biome", "check", "."]);
must("npx", ["tsc", "--noEmit"]);
must("node", ["scripts/build.mjs"]);

const hosts = scope !== "unit" && ensureRoot("npm test") && ensurePackages();
if (hosts) ensureModules("test/clients");
const folder = mkdtempSync(join(tmpdir(), "clm-test-"));
const env = { ...process.env, ...(scope === "exhaustive" && { CLM_TEST_EXHAUSTIVE: "1" }) };

/** Runs vitest and gives back its report. Whoever is not watched is heard at the end. */
function vitest(name, args, { watched, ...variables }) {
  const report = join(folder, `${name}.json`);
  const reporters = ["--reporter=default", "--reporter=json", `--outputFile.json=${report}`];
  const stdio = ["inherit", watched ? "inherit" : "pipe", watched ? "inherit" : "pipe"];
  const child = spawn("npx", ["vitest", "run", ...args, ...reporters, ...more], {
    stdio,
    env: { ...env, ...variables },
  });
  const said = [];
  for (const stream of [child.stdout, child.stderr]) stream?.on("data", (chunk) => said.push(chunk));
  return new Promise((resolve) => {
    child.on("close", (status) => {
      for (const chunk of said) writeSync(1, chunk);
      // One that was stopped leaves no report.
      const told = existsSync(report) ? JSON.parse(readFileSync(report, "utf8")) : { testResults: [] };
      resolve({ name, status: status ?? 1, files: told.testResults });
    });
  });
}

// Tests on hosts wait more than they work: these parts take about as long as each other, and run side by side, each with
// a lab of its own. The first that a file fits takes it, and what none takes is the ground's.
const parts = {
  fleet: /^test\/lab\/agent-(chat|doctor|inside|keys|logs|ps|truth|tunnel|validate)\./,
  door: /^test\/(lab\/(gateway|agent-handoff|agent-proxy|agent-runtime)|faults\/secrets-gateway|docs\/)/,
  agents: /^test\/(lab\/agent-|faults\/(agent-|secrets-nowhere))/,
};
const hostTests = ["lab", "faults", "docs"].flatMap((kind) =>
  readdirSync(join("test", kind))
    .filter((name) => name.endsWith(".test.ts"))
    .map((name) => `test/${kind}/${name}`),
);
const partOf = (file) => Object.keys(parts).find((part) => parts[part].test(file)) ?? "ground";
const filesOf = (part) => hostTests.filter((file) => partOf(file) === part);
const beside = (part) => vitest(part, filesOf(part), { watched: false, CLM_LAB_DIR: join(folder, `lab-${part}`) });
const runs = hosts
  ? [
      vitest("ground", ["test/unit", ...filesOf("ground")], { watched: true }),
      ...Object.keys(parts).map((part) => beside(part)),
    ]
  : [vitest("unit", ["--project", "unit"], { watched: true })];

const done = await Promise.all(runs);

// Four labs on a small machine can starve a host of time. A few files that failed beside all the others get a second
// try by themselves; which they were is said at the end, as such a test is still one to look into.
const failed = failedIn(done).map(fileOf);
const worthATry = failed.length > 0 && failed.length <= 4 && failed.every((file) => hostTests.includes(file));
const again = hosts && worthATry ? await vitest("alone", failed, { watched: true }) : undefined;
rmSync(folder, { recursive: true });

const well = tellVerdict(done, again);
if (scope !== "unit" && !hosts)
  console.error("The tests on real hosts did not run; see above. `npm run test:unit` runs only the others.");
process.exit(well && (scope === "unit" || hosts) ? 0 : 1);
