import { Fault } from "../errors.js";
import type { Secret } from "../secret.js";
import { redactedValue } from "../text/redacted-json.js";
import { faultText } from "./errors.js";
import { createLines } from "./lines.js";
import { createPaint, type Paint, wantsColour } from "./paint.js";
import { oneLine, plain, plainBytes } from "./plain.js";
import { createBoard } from "./progress.js";
import { createPrompts } from "./prompts.js";
import { createRedactor } from "./redact.js";
import { openCanvas, type Screen } from "./screen.js";
import type { InStream, OutStream } from "./streams.js";
import type { Ui } from "./ui.js";

export interface TerminalOptions {
  /** Opened only when something is asked: that alone costs as much as printing help. */
  stdin: () => InStream;
  stdout: OutStream;
  stderr: OutStream;
  env: NodeJS.ProcessEnv;
  flags: { quiet: boolean; debug: boolean; noColor: boolean; yes: boolean };
  /** JSON or YAML was asked for: unless a person watches, no progress comes before an error that a program reads. */
  structured?: boolean;
  signal?: AbortSignal;
  /** Whoever read stdout went away (`clm host list | head -1`); nothing more can be told there. */
  onOutputClosed?: () => void;
}

/** The `Ui` of a real run, and what only the top of the program needs. */
export interface Terminal extends Ui {
  /** One line with nothing secret and no control characters in it. */
  clean(text: string): string;
  /** Colours for stderr. */
  readonly paint: Paint;
  /** Columns for a table on stdout; nothing when it is not a terminal, where nothing may be cut. */
  readonly width: number | undefined;
  /** Where results go, when a person looks at them there. */
  readonly screen: Screen | undefined;
  readonly outputClosed: boolean;
  /** Lets go of what was kept back and waits until stdout has taken it. Throws when it could not. */
  close(): Promise<void>;
}

export function createTerminal(options: TerminalOptions): Terminal {
  const { stdout, stderr, env, flags } = options;
  const redactor = createRedactor();
  const results = redactor.stream();
  const byteRedactor = createRedactor((text) => Buffer.from(text).toString("latin1"));
  const passed = { stdout: byteRedactor.stream(), stderr: byteRedactor.stream() };
  /** For a terminal, what was passed is cleaned first: a secret with an escape sequence inside would not be known. */
  const shown = {
    stdout: { clean: plainBytes(), redact: redactor.stream() },
    stderr: { clean: plainBytes(), redact: redactor.stream() },
  };
  const paint = createPaint(wantsColour(stderr, env, flags.noColor));
  const interactive = () => stderr.isTTY === true && options.stdin().isTTY === true;
  const unwatched = options.structured === true && !stderr.isTTY;
  const clean = (text: string) => redactor.text(oneLine(text));
  /** What stdout shows last is a line that goes on. */
  let midLine = false;
  let outputClosed = false;
  let outputError: Error | undefined;
  /** What was said while a screen was taken, to be told after it. */
  let unsaid: string[] | undefined;
  const unicode = /utf-?8/i.test(env.LC_ALL || env.LC_CTYPE || env.LANG || "") && env.TERM !== "linux";

  stdout.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code === "EPIPE" && !outputClosed) {
      outputClosed = true;
      options.onOutputClosed?.();
    }
    outputError ??= error;
  });
  // Nobody reads our remarks any more: that stops no work.
  stderr.on("error", () => {});

  const board = createBoard({
    mode: flags.quiet || unwatched ? "quiet" : stderr.isTTY && env.TERM !== "dumb" && !env.CI ? "live" : "lines",
    write: (text) => stderr.write(redactor.text(text)),
    clean,
    size: () => ({ columns: stderr.columns || 80, rows: stderr.rows || 24 }),
    paint,
    unicode,
    debug: flags.debug,
    now: sinceStart,
  });

  const write = (text: string): void => board.aside(() => stderr.write(`${redactor.text(text)}\n`));
  const say = (text: string): void => void (unsaid ? unsaid.push(text) : write(text));

  const screen: Screen = {
    get columns() {
      return stdout.columns || 80;
    },
    get rows() {
      return stdout.rows || 24;
    },
    paint: createPaint(wantsColour(stdout, env, flags.noColor)),
    unicode,
    open(onResize) {
      board.pause();
      const kept: string[] = [];
      unsaid = kept;
      const onClose = () => {
        unsaid = undefined;
        board.resume();
        for (const text of kept) write(text);
      };
      return openCanvas({ stdout, clean: redactor.text, onResize, onClose });
    },
  };

  const out = (text: string): Promise<void> | void => put(results.push(text));

  function data(value: unknown, write: (value: unknown) => string, stream = "stdout"): Promise<void> | void {
    const text = write(redactedValue(value, redactor.text));
    if (stream === "stdout") return put(results.flush() + text);
    board.aside(() => stderr.write(text));
  }

  function put(ready: string): Promise<void> | void {
    if (ready === "" || outputError) return;
    midLine = !ready.endsWith("\n");
    return new Promise((taken) => {
      const write = () => stdout.write(ready, () => taken());
      if (stdout.isTTY) board.aside(write, ready.endsWith("\n"));
      else write();
    });
  }

  function pass(stream: "stdout" | "stderr", bytes: Buffer, { raw = false } = {}): Promise<void> {
    const target = stream === "stdout" ? stdout : stderr;
    const { clean, redact } = shown[stream];
    const ready =
      target.isTTY && !raw
        ? Buffer.from(redact.push(clean.push(bytes)))
        : Buffer.from(passed[stream].push(bytes.toString("latin1")), "latin1");
    if (ready.length === 0 || (stream === "stdout" && outputError)) return Promise.resolve();
    return new Promise((resolve) => target.write(ready, () => resolve()));
  }

  /** What was kept back of what was passed, when nothing more comes. */
  function lastOf(stream: "stdout" | "stderr"): Buffer {
    const { clean, redact } = shown[stream];
    const text = redact.push(clean.flush()) + redact.flush();
    return Buffer.concat([Buffer.from(text), Buffer.from(passed[stream].flush(), "latin1")]);
  }

  function hide(secret: Secret): void {
    redactor.hide(secret);
    byteRedactor.hide(secret);
  }

  const prompts = createPrompts({
    stdin: options.stdin,
    stderr,
    interactive,
    yes: flags.yes,
    ...(options.signal && { signal: options.signal }),
    clean,
    withTerminal: async (ask) => {
      board.pause();
      try {
        return await ask();
      } finally {
        board.resume();
      }
    },
  });

  return {
    ...prompts,
    askSecret: async (question) => {
      const secret = await prompts.askSecret(question);
      hide(secret);
      return secret;
    },
    out,
    data,
    pass,
    handOut: (secret, before = "") => {
      if (!outputError) stdout.write(`${results.flush()}${before}${secret.reveal()}\n`);
    },
    say,
    fault: (fault) => say(faultText(fault, { paint, debug: flags.debug })),
    note: (text) => {
      if (!flags.quiet) say(plain(text));
    },
    aside: (text) => {
      if (flags.quiet || unwatched) return;
      const line = paint.dim(plain(text));
      say(midLine && stdout.isTTY && stderr.isTTY ? `\n${line}` : line);
      midLine = false;
    },
    warn: (text) => say(`${paint.yellow("warning:")} ${plain(text)}`),
    debug: (text) => {
      if (flags.debug) say(paint.dim(`debug +${sinceStart()}ms ${plain(text)}`));
    },
    progress: board.start,
    hide,
    redact: redactor.text,
    get interactive() {
      return interactive();
    },
    get watched() {
      return stdout.isTTY === true;
    },
    lines: (prompt) =>
      createLines({
        stdin: options.stdin(),
        stderr,
        prompt: `${paint.bold(clean(prompt))} `,
        signal: options.signal ?? new AbortController().signal,
      }),
    clean,
    paint,
    get width() {
      return stdout.isTTY ? stdout.columns || 80 : undefined;
    },
    get screen() {
      return stdout.isTTY ? screen : undefined;
    },
    get outputClosed() {
      return outputClosed;
    },
    async close() {
      board.pause();
      const kept = lastOf("stderr");
      if (kept.length > 0) stderr.write(kept);
      const rest = Buffer.concat([Buffer.from(results.flush()), lastOf("stdout")]);
      await new Promise<void>((resolve) => stdout.write(rest, () => resolve()));
      if (outputError && !outputClosed) {
        throw new Fault("local-setup", "the result could not be written", {
          why: outputError.message,
          cause: outputError,
        });
      }
    },
  };
}

/** Milliseconds. The global `performance` says the same, and loading it takes 2 ms. */
const sinceStart = (): number => Math.round(process.uptime() * 1000);
