import { writeSync } from "node:fs";

/**
 * A short result written straight to stdout, for answers that hold nothing secret and must cost no more than bare Node:
 * opening `process.stdout` loads the terminal and network code first.
 */
export function printAtOnce(text: string): void {
  try {
    writeSync(1, text);
  } catch (error) {
    // The reader went away, as `clm --version | true` does.
    if (!(error instanceof Error && "code" in error && error.code === "EPIPE")) throw error;
  }
}
