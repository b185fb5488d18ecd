// npm test: everything, from a fresh clone. `unit` runs what needs no hosts, `exhaustive` leaves nothing to a sample, and the
// name of a part (below) runs only that part.
import {
  chmodSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ensureModules, ensurePackages, ensureRoot, must } from "./setup.mjs";
import { start, stoppable, takeLabsDown } from "./stoppable.mjs";
import { failedIn, fileOf, tellVerdict } from "./verdict.mjs";

// Tests on hosts wait more than they work: these parts take about as long as each other, and run side by side, each with
// a lab of its own. The first that a file fits takes it, and what none takes is the ground's.
const parts = {
  fleet: /^test\/lab\/(agent-(chat|doctor|inside|keys|logs|ps|truth|tunnel|validate)|failed-calls|key-trust|standin)\./,
  door: /^test\/(lab\/(gateway|agent-handoff|agent-proxy|agent-runtime)|faults\/secrets-gateway|docs\/)/,
  agents: /^test\/(lab\/agent-|faults\/(agent-|secrets-nowhere))/,
};

const [scope = "all", ...more] = process.argv.slice(2);
const onlyPart = Object.hasOwn(parts, scope) || scope === "ground" ? scope : undefined;
ensureModules();
if (!onlyPart) {
  must("npx", ["biome", "check", "."]);
  must("npx", ["tsc", "--noEmit"]);
}
must("node", ["scripts/build.mjs"]);
const clm = join(process.env.CLM_DIST ?? "dist", "clm.js");

const hosts = scope !== "unit" && ensureRoot("npm test") && ensurePackages();
if (hosts) {
  ensureModules("test/clients");
  await cleanUpAfterKilled();
}
// Labs and everything that tests keep for a while are in here, so that a run that is stopped leaves nothing.
const folder = mkdtempSync(join(tmpdir(), "clm-test-"));
// As /tmp is: some tests run programs as another user.
chmodSync(folder, 0o1777);
writeFileSync(join(folder, "pid"), String(process.pid));
const env = { ...process.env, TMPDIR: folder, ...(scope === "exhaustive" && { CLM_TEST_EXHAUSTIVE: "1" }) };

/** A run that was killed could not clean up. */
async function cleanUpAfterKilled() {
  for (const name of readdirSync(tmpdir()).filter((each) => /^clm-test-\w{6}$/.test(each))) {
    const left = join(tmpdir(), name);
    const pid = existsSync(join(left, "pid")) && readFileSync(join(left, "pid"), "utf8");
    if (pid && !existsSync(`/proc/${pid}`) && (await takeLabsDown(left, clm))) rmSync(left, { recursive: true });
  }
}

/** Runs vitest and gives back its report. What one that is not watched prints is shown at its end. */
function vitest(name, args, { watched }) {
  const report = join(folder, `${name}.json`);
  const reporters = ["--reporter=default", "--reporter=json", `--outputFile.json=${report}`];
  const stdio = ["ignore", watched ? "inherit" : "pipe", watched ? "inherit" : "pipe"];
  const child = start("node", ["node_modules/vitest/vitest.mjs", "run", ...args, ...reporters, ...more], {
    stdio,
    env: { ...env, CLM_LAB_DIR: join(folder, `lab-${name}`) },
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

const hostTests = ["lab", "faults", "docs"].flatMap((kind) =>
  readdirSync(join("test", kind))
    .filter((name) => name.endsWith(".test.ts"))
    .map((name) => `test/${kind}/${name}`),
);
const partOf = (file) => Object.keys(parts).find((part) => parts[part].test(file)) ?? "ground";
const filesOf = (part) => hostTests.filter((file) => partOf(file) === part);

function runs() {
  if (!hosts) return [vitest("unit", ["--project", "unit"], { watched: true })];
  if (onlyPart) return [vitest(onlyPart, filesOf(onlyPart), { watched: true })];
  return [
    vitest("ground", ["test/unit", ...filesOf("ground")], { watched: true }),
    ...Object.keys(parts).map((part) => vitest(part, filesOf(part), { watched: false })),
  ];
}

async function test() {
  const done = await Promise.all(runs());
  // Four labs on a small machine can starve a host of time. A few files that failed beside all the others get a second
  // try by themselves; which they were is said at the end, as such a test is still one to look into.
  const failed = failedIn(done).map(fileOf);
  const worthATry = failed.length > 0 && failed.length <= 4 && failed.every((file) => hostTests.includes(file));
  const again = hosts && worthATry ? await vitest("alone", failed, { watched: true }) : undefined;
  const well = tellVerdict(done, again);
  if (scope !== "unit" && !hosts)
    console.error("The tests on real hosts did not run; see above. `npm run test:unit` runs only the others.");
  return well && (scope === "unit" || hosts) ? 0 : 1;
}

async function leaveNothing() {
  // What could not be taken down stays where the next run finds it.
  if (await takeLabsDown(folder, clm)) rmSync(folder, { recursive: true, force: true });
}

process.exit(await stoppable(test, leaveNothing));
