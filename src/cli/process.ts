import { Fault, faults } from "../errors.js";
import { runCli } from "./run.js";

// Milliseconds a command may take to stop, and then clm to say so. Together below the two seconds that docs promise.
const stopTimeout = 1500;
const lastWords = 300;

/**
 * clm as a process. The first Ctrl-C (or SIGTERM, or a closed terminal) asks the command to stop where it is safe; the
 * second ends at once, and so does a command that waits for somebody who never answers. Whatever a command leaves open
 * does not keep clm alive: when it is done, clm ends. State files are written without a wait, so none is cut in half.
 */
export async function runProcess(argv: string[]): Promise<never> {
  // Node ends with this when nothing is left to wait for: only a command that came to its end may end well.
  process.exitCode = faults.bug.exit;
  const stop = new AbortController();
  const stopLimit = { milliseconds: stopTimeout };
  const onSignal = () => {
    if (stop.signal.aborted) process.exit(faults.interrupted.exit);
    // Also when whoever reads our output takes nothing more.
    setTimeout(() => process.exit(faults.interrupted.exit), stopLimit.milliseconds + lastWords).unref();
    stop.abort(new Fault("interrupted", "stopped before it was done"));
  };
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, onSignal);

  const crash = new Promise<never>((_, reject) => {
    process.on("uncaughtException", reject);
    process.on("unhandledRejection", reject);
    process.once("beforeExit", () => reject(new Error("the command waits for something that never comes")));
  });
  crash.catch(() => {});

  const { stdout, stderr, env } = process;
  const stdin = () => process.stdin;
  const { signal } = stop;
  const code = await runCli(argv, { stdin, stdout, stderr, env, now: () => new Date(), signal, stopLimit, crash });
  process.exit(code);
}
