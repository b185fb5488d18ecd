import { waitFor } from "../async/wait.js";
import { Fault } from "../errors.js";
import type { Exit, Process } from "./process.js";

// Milliseconds from the end of its output to word of how it ended.
const timeout = 10_000;

/** How a process ended whose output was read to its end. A host may close the output and never say. */
export function awaitExit(process: Process, host: string): Promise<Exit> {
  return waitFor(process.done, {
    timeout,
    late() {
      process.leave();
      return new Fault("remote-timeout", `${host} does not say how its command ended`, {
        why: `its output ended ${timeout / 1000} s ago`,
        next: `clm host check ${host}`,
      });
    },
  });
}
