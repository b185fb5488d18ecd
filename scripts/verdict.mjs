// What came of a test run, told where it is found: after everything else that was printed.
import { relative } from "node:path";

export const fileOf = (result) => relative(process.cwd(), result.name);

/** The files with a test that failed. A run is what `vitest` in test.mjs gives back. */
export const failedIn = (runs) => runs.flatMap(({ files }) => files.filter(({ status }) => status === "failed"));

/** Tells how the runs ended, and the one in which what had failed was tried again, if there was one; whether all is well. */
export function tellVerdict(runs, again) {
  const failed = failedIn(runs);
  // A second try that was stopped says nothing.
  const still = again?.files.length ? failedIn([again]) : failed;
  const mended = failed.filter((result) => !still.some((each) => fileOf(each) === fileOf(result)));
  // A run that ended badly though no file of it failed: stopped, or an error outside of every test.
  const broken = [...runs, ...(again ? [again] : [])].filter((run) => run.status !== 0 && failedIn([run]).length === 0);

  tell("Failed beside the others, passed by itself:", mended);
  tell("Failed:", still);
  for (const { name, status } of broken)
    console.log(`\nThe part "${name}" ended with ${status}, and no test of it failed.`);
  const unsteady = mended.length > 0 ? `; only at the second try: ${mended.map(fileOf).join(", ")}` : "";
  console.log(`${countsOf(runs, again)}${unsteady}`);
  return still.length === 0 && broken.length === 0;
}

function tell(title, results) {
  if (results.length > 0) console.log(`\n${title}`);
  for (const result of results) {
    console.log(`  ${fileOf(result)}${result.message ? `: ${result.message}` : ""}`);
    for (const test of result.assertionResults.filter(({ status }) => status === "failed"))
      console.log(`    ${test.fullName}\n${test.failureMessages.join("\n").replace(/^/gm, "      ")}`);
  }
}

/** Of a file that was tried again, the second try counts. */
function countsOf(runs, again = { files: [] }) {
  const tried = new Set(again.files.map(fileOf));
  const first = runs.flatMap(({ files }) => files).filter((result) => !tried.has(fileOf(result)));
  const tests = [...first, ...again.files].flatMap(({ assertionResults }) => assertionResults);
  const count = (...kinds) => tests.filter(({ status }) => kinds.includes(status)).length;
  return `${count("passed")} passed, ${count("failed")} failed, ${count("pending", "skipped", "todo")} skipped`;
}
