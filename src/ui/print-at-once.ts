import { writeSync } from "node:fs";

/** Prints a result without secrets: opening `process.stdout` would load Node's terminal and network code first. */
export function printAtOnce(text: string): void {
  try {
    writeSync(1, text);
  } catch (error) {
    // The reader is gone, as in `clm --version | true`.
    if (!(error instanceof Error && "code" in error && error.code === "EPIPE")) throw error;
  }
}
