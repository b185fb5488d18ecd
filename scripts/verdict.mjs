// The summary of a test run, printed after all other output.
import { relative } from "node:path";

export const fileOf = (result) => relative(process.cwd(), result.name);

/** The files with a failed test. A run is the result of `vitest` in test.mjs. */
export const failedIn = (runs) => runs.flatMap(({ files }) => files.filter(({ status }) => status === "failed"));

/** Prints how the runs ended, with the second try of failed files if there was one; returns whether all passed. */
export function tellVerdict(runs, again) {
  const failed = failedIn(runs);
  // A stopped second try does not count.
  const still = again?.files.length ? failedIn([again]) : failed;
  const mended = failed.filter((result) => !still.some((each) => fileOf(each) === fileOf(result)));
  // A run that failed without a failed file: stopped, or an error outside of every test.
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

/** For a retried file the second try counts. */
function countsOf(runs, again = { files: [] }) {
  const tried = new Set(again.files.map(fileOf));
  const first = runs.flatMap(({ files }) => files).filter((result) => !tried.has(fileOf(result)));
  const tests = [...first, ...again.files].flatMap(({ assertionResults }) => assertionResults);
  const count = (...kinds) => tests.filter(({ status }) => kinds.includes(status)).length;
  return `${count("passed")} passed, ${count("failed")} failed, ${count("pending", "skipped", "todo")} skipped`;
}
