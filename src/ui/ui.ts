import type { Fault } from "../errors.js";
import type { Secret } from "../secret.js";
import type { Lines } from "./lines.js";

/** One line of live progress. Ends exactly once. */
export interface Progress {
  update(message: string): void;
  /** A line of the work's own output, shown dimmed and only while it runs (or with --debug). */
  output(line: string): void;
  done(message?: string): void;
  fail(message?: string): void;
}

export interface Question {
  message: string;
  /** The flag that answers this question; named in the error when there is no terminal. */
  flag: string;
}

export interface Choice {
  value: string;
  /** Its label; by default the value. */
  name?: string;
}

/**
 * Output and questions of a command. Everything that reaches a terminal goes through here, so redaction, colour, --quiet and
 * machine formats are handled in one place. Results go to stdout, everything else to stderr.
 */
export interface Ui {
  /** A result, to stdout, with no newline added. Await it before writing much more. */
  out(text: string): Promise<void> | void;
  /** A result for a program. Values are redacted before `write` serializes them, so that the text stays valid. */
  data(value: unknown, write: (value: unknown) => string, stream?: "stdout" | "stderr"): Promise<void> | void;
  /** Prints a secret the user asked for: the only unredacted output. The caller checks `watched` and audits it. */
  handOut(secret: Secret, before?: string): void;
  /** A remote command's output, redacted; plain on a terminal unless `raw`. Resolves when the stream takes more. */
  pass(stream: "stdout" | "stderr", bytes: Buffer, how?: { raw?: boolean }): Promise<void>;
  /** A line on stderr, even with --quiet: errors, a host's stderr, notes about Ctrl-C. */
  say(text: string): void;
  /** A fault after which the command goes on. */
  fault(fault: Fault): void;
  /** A remark to a person; not with --quiet. */
  note(text: string): void;
  /** A dim line between the lines of a result; not for programs. */
  hint(text: string): void;
  warn(text: string): void;
  debug(text: string): void;
  progress(title: string): Progress;
  /**
   * Yes or no; `--yes` answers it when that is the question's flag. Without a terminal, questions throw `needs-answer` naming
   * the flag; Ctrl-C and Ctrl-D throw `interrupted`.
   */
  confirm(question: Question): Promise<boolean>;
  ask(question: Question & { initial?: string }): Promise<string>;
  choose(question: Question & { choices: Choice[]; initial?: string }): Promise<string>;
  /** The input is invisible, and redacted from then on. */
  askSecret(question: Question): Promise<Secret>;
  /** Redacts this value from now on, in every known encoding. */
  hide(secret: Secret): void;
  /** Redacts a text that is written elsewhere. */
  redact(text: string): string;
  readonly interactive: boolean;
  /** A prompt for one message after the other. Only if `interactive`. */
  lines(prompt: string): Promise<Lines>;
  /** stdout is a terminal, where output stays visible. */
  readonly watched: boolean;
}
