import type { Readable, Writable } from "node:stream";

/** How a process ended: `code` is null when a signal or a lost connection ended it. */
export interface Exit {
  code: number | null;
  signal?: string;
}

/** A remote process. Over SSH it is a channel; in unit tests a child process. */
export interface Process {
  /** Emits no errors: writing to an ended process is ignored, and `done` reports how it ended. */
  readonly stdin: Writable;
  readonly stdout: Readable;
  readonly stderr: Readable;
  /** Resolves when the process ended and its output was read; rejects with a Fault when the connection was lost. */
  readonly done: Promise<Exit>;
  /** Sends a signal and leaves. Over SSH it reaches what has the login user's rights, not what sudo started. */
  kill(signal?: "INT" | "TERM" | "KILL"): void;
  /** Closes the channel. The process may go on; most end at their next write. */
  leave(): void;
}

/** Starts processes. `as` returns a shell with another user's rights. */
export interface Shell {
  /** Runs one command line. Every variable part must be quoted. */
  spawn(command: string, options?: { signal?: AbortSignal }): Promise<Process>;
  as(user: string): Shell;
}
