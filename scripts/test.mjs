// npm test: all tests, from a fresh clone. `unit` runs those without hosts, `exhaustive` runs every case where the
// default is a sample, and the name of a part (below) runs only that part.
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

// Tests on hosts mostly wait. These parts take about equally long and run side by side, each with
// its own lab. A file belongs to the first part that matches, and to `ground` otherwise.
const parts = {
  fleet: /^test\/lab\/(agent-(chat|doctor|drift|exec|keys|logs|ps|tunnel|validate)|failed-calls|key-trust|standin)\./,
  gateway: /^test\/(lab\/(gateway|agent-handoff|agent-proxy|agent-runtime)|faults\/secrets-gateway|docs\/)/,
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
// Labs and all temporary files are in here, so that a stopped run leaves nothing.
const folder = mkdtempSync(join(tmpdir(), "clm-test-"));
// The mode of /tmp: some tests run programs as another user.
chmodSync(folder, 0o1777);
writeFileSync(join(folder, "pid"), String(process.pid));
const env = { ...process.env, TMPDIR: folder, ...(scope === "exhaustive" && { CLM_TEST_EXHAUSTIVE: "1" }) };

/** Cleans up after runs that were killed. */
async function cleanUpAfterKilled() {
  for (const name of readdirSync(tmpdir()).filter((each) => /^clm-test-\w{6}$/.test(each))) {
    const left = join(tmpdir(), name);
    const pid = existsSync(join(left, "pid")) && readFileSync(join(left, "pid"), "utf8");
    if (pid && !existsSync(`/proc/${pid}`) && (await takeLabsDown(left, clm))) rmSync(left, { recursive: true });
  }
}

/** Runs vitest and returns its report. The output of an unwatched run is printed at its end. */
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
      // A stopped run leaves no report.
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
  // Four labs on a small machine can starve a host. A few failed files get a second
  // try alone; they are named at the end, because such a test still needs a look.
  const failed = failedIn(done).map(fileOf);
  const worthATry = failed.length > 0 && failed.length <= 4 && failed.every((file) => hostTests.includes(file));
  const again = hosts && worthATry ? await vitest("alone", failed, { watched: true }) : undefined;
  const well = tellVerdict(done, again);
  if (scope !== "unit" && !hosts)
    console.error("The tests on real hosts did not run; see above. `npm run test:unit` runs only the others.");
  return well && (scope === "unit" || hosts) ? 0 : 1;
}

async function leaveNothing() {
  // The next run finds what could not be taken down.
  if (await takeLabsDown(folder, clm)) rmSync(folder, { recursive: true, force: true });
}

process.exit(await stoppable(test, leaveNothing));
