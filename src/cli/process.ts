import { Fault, faults } from "../errors.js";
import { runCli } from "./run.js";

// Milliseconds for a command to stop, and then to print the error: within the two seconds that the docs promise.
const stopTimeout = 1500;
const printTimeout = 300;

/**
 * Runs clm and exits. The first Ctrl-C (or SIGTERM, or a closed terminal) asks the command to stop where it is safe; the
 * second exits at once. Open handles do not keep clm alive after the command has ended. State files are written
 * synchronously, so none is cut in half.
 */
export async function runProcess(argv: string[]): Promise<never> {
  // Node's exit code if the event loop runs dry: only a command that has ended may exit with 0.
  process.exitCode = faults.bug.exit;
  const stop = new AbortController();
  const stopLimit = { milliseconds: stopTimeout };
  const onSignal = () => {
    if (stop.signal.aborted) process.exit(faults.interrupted.exit);
    // Also when the reader of our output is gone.
    setTimeout(() => process.exit(faults.interrupted.exit), stopLimit.milliseconds + printTimeout).unref();
    stop.abort(new Fault("interrupted", "stopped before it was done"));
  };
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, onSignal);

  const crash = new Promise<never>((_, reject) => {
    process.on("uncaughtException", reject);
    process.on("unhandledRejection", reject);
    process.once("beforeExit", () => reject(new Error("the command waits for something that never happens")));
  });
  crash.catch(() => {});

  const { stdout, stderr, env } = process;
  const stdin = () => process.stdin;
  const { signal } = stop;
  process.exit(await runCli(argv, { stdin, stdout, stderr, env, now: () => new Date(), signal, stopLimit, crash }));
}
