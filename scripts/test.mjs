// npm test: everything, from a fresh clone. `unit` runs what needs no hosts, `exhaustive` leaves nothing to a sample.
import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { ensureModules, ensurePackages, ensureRoot, must } from "./setup.mjs";

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
  door: /^test\/(lab\/(gateway|agent-handoff|agent-proxy)|faults\/secrets-gateway|docs\/)/,
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

const fileOf = (result) => relative(process.cwd(), result.name);
const failedIn = (runs) => runs.flatMap(({ files }) => files.filter(({ status }) => status === "failed"));
// A run that ended badly though no file of it failed: stopped, or an error outside of every test.
const broken = done.filter((run) => run.status !== 0 && failedIn([run]).length === 0);

// Four labs on a small machine can starve a host of time. A few files that failed beside all the others get a second
// try by themselves; which they were is said at the end, as such a test is still one to look into.
const failed = failedIn(done);
const worthATry = hosts && failed.length <= 4 && failed.every((result) => hostTests.includes(fileOf(result)));
const alone = failed.length > 0 && worthATry ? await vitest("alone", failed.map(fileOf), { watched: true }) : undefined;
rmSync(folder, { recursive: true });

const lastWord = alone?.files.length ? failedIn([alone]) : failed;
const tried = new Set(alone?.files.map(fileOf));
const files = [
  ...done.flatMap((run) => run.files).filter((result) => !tried.has(fileOf(result))),
  ...(alone?.files ?? []),
];
const count = (...kinds) =>
  files.flatMap((file) => file.assertionResults).filter((test) => kinds.includes(test.status)).length;

/** What failed, and why, where it is found: after everything else that was printed. */
function tell(title, results) {
  if (results.length > 0) console.log(`\n${title}`);
  for (const result of results) {
    console.log(`  ${fileOf(result)}${result.message ? `: ${result.message}` : ""}`);
    for (const test of result.assertionResults.filter(({ status }) => status === "failed"))
      console.log(`    ${test.fullName}\n${test.failureMessages.join("\n").replace(/^/gm, "      ")}`);
  }
}
const mended = failed.filter((result) => !lastWord.some((again) => fileOf(again) === fileOf(result)));
tell("Failed beside the others, passed by itself:", mended);
tell("Failed:", lastWord);
for (const { name, status } of broken)
  console.log(`\nThe part "${name}" ended with ${status}, and no test of it failed.`);
const unsteady = mended.length > 0 ? `, ${mended.length} files only at the second try` : "";
console.log(
  `${count("passed")} passed, ${count("failed")} failed, ${count("pending", "skipped", "todo")} skipped${unsteady}`,
);
if (scope !== "unit" && !hosts)
  console.error("The tests on real hosts did not run; see above. `npm run test:unit` runs only the others.");
const whole = lastWord.length === 0 && broken.length === 0 && (alone?.status ?? 0) === 0;
process.exit(whole && (scope === "unit" || hosts) ? 0 : 1);
