import type { Fault } from "../errors.js";
import type { Secret } from "../secret.js";
import type { Lines } from "./lines.js";

/** One line of live progress. Ends exactly once. */
export interface Progress {
  /** What is being done right now. */
  update(message: string): void;
  /** A line of the work's own output, shown dimmed and only while it runs (or with --debug). */
  output(line: string): void;
  done(message?: string): void;
  fail(message?: string): void;
}

export interface Question {
  message: string;
  /** The flag that answers this question without a terminal; named in the error when there is none. */
  flag: string;
}

/** One of a few things a person can pick. */
export interface Choice {
  value: string;
  /** What is shown for it; without it, the value. */
  name?: string;
}

/**
 * What a command may say to a person. Everything that reaches a terminal goes through here, so redaction, colour,
 * quiet and machine formats have one home. Results go to stdout, everything else to stderr.
 */
export interface Ui {
  /**
   * The result a script reads: goes to stdout as it is, with no newline added. Who has much to tell waits until it is taken.
   */
  out(text: string): Promise<void> | void;
  /**
   * A result for a program. Secrets are taken out of its values before `write` makes text of it: it can be read whatever a
   * secret spells, be it a name of a member or a brace.
   */
  data(value: unknown, write: (value: unknown) => string, stream?: "stdout" | "stderr"): Promise<void> | void;
  /**
   * Writes a secret to stdout as it is, on a line of its own. Everything else that is printed has hidden secrets taken out
   * of it, so this is the one way for who asked for a secret by name; who calls it has seen `watched` and has it audited.
   */
  handOut(secret: Secret, before?: string): void;
  /**
   * What a command somewhere else wrote, byte for byte but for hidden secrets, to the same stream of ours. A terminal gets it
   * as text without escape sequences and control characters, unless `raw`. Resolves when the stream takes more.
   */
  pass(stream: "stdout" | "stderr", bytes: Buffer, how?: { raw?: boolean }): Promise<void>;
  /** A line on stderr whatever the flags say, passed on as it is: what a host said there, errors, what Ctrl-C does. */
  say(text: string): void;
  /** A fault after which a person goes on. It looks as one that is the end. */
  fault(fault: Fault): void;
  /** A remark to a person. */
  note(text: string): void;
  /** What happens on the way to a result, while that comes: a dim line between its lines. Programs are not told. */
  aside(text: string): void;
  warn(text: string): void;
  debug(text: string): void;
  progress(title: string): Progress;
  /**
   * Yes or no; `--yes` answers it when that is the question's flag. Without a terminal it and the other questions throw
   * `needs-answer` naming the flag; Ctrl-C and Ctrl-D throw `interrupted`.
   */
  confirm(question: Question): Promise<boolean>;
  ask(question: Question & { initial?: string }): Promise<string>;
  /** The value of the choice that was picked. */
  choose(question: Question & { choices: Choice[]; initial?: string }): Promise<string>;
  /** Nothing of it shows while it is typed, and it is hidden from then on. */
  askSecret(question: Question): Promise<Secret>;
  /** From now on this value never shows, in any encoding we know of. */
  hide(secret: Secret): void;
  /** The text without any hidden secret, for what is written somewhere else than a terminal. */
  redact(text: string): string;
  readonly interactive: boolean;
  /** A prompt at which a person types one message after the other. Only where `interactive` is true. */
  lines(prompt: string): Promise<Lines>;
  /** Results go to a terminal, where they stay for whoever looks at it next. */
  readonly watched: boolean;
}
