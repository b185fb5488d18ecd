import type { Readable, Writable } from "node:stream";

/** How a process ended: `code` is null when a signal or a lost connection ended it. */
export interface Exit {
  code: number | null;
  signal?: string;
}

/** A process somewhere else. Over SSH it is a channel; in unit tests it is a child of ours. */
export interface Process {
  /** Writing to a process that has gone is no error and throws none: how it ended is told by `done`. */
  readonly stdin: Writable;
  readonly stdout: Readable;
  readonly stderr: Readable;
  /** Resolves when the process ended and its output was read; rejects with a Fault when the connection was lost. */
  readonly done: Promise<Exit>;
  /** Sends a signal and leaves. Over SSH it reaches what has the login user's rights, not what sudo started. */
  kill(signal?: "INT" | "TERM" | "KILL"): void;
  /** Hangs up. The process may go on; whoever writes to nobody usually ends. */
  leave(): void;
}

/** Something that starts processes. `as` gives the same thing with another user's rights. */
export interface Shell {
  /** Runs one command line. It must be built with `quote` wherever anything varies. */
  spawn(command: string, options?: { signal?: AbortSignal }): Promise<Process>;
  as(user: string): Shell;
}
