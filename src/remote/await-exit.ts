import { waitFor } from "../async/wait.js";
import { Fault } from "../errors.js";
import type { Exit, Process } from "./process.js";

// Milliseconds between the end of its output and its exit status.
const timeout = 10_000;

/** The exit of a process whose output has ended. A host may close the output and never send the exit status. */
export function awaitExit(process: Process, host: string): Promise<Exit> {
  return waitFor(process.done, {
    timeout,
    late() {
      process.leave();
      return new Fault("remote-timeout", `${host} sent no exit status for its command`, {
        why: `its output ended ${timeout / 1000} s ago`,
        next: `clm host check ${host}`,
      });
    },
  });
}
