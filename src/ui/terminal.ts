import { Fault } from "../errors.js";
import type { Secret } from "../secret.js";
import { redactedValue } from "../text/redacted-json.js";
import { faultText } from "./errors.js";
import type { Lines } from "./lines.js";
import { createPaint, type Paint, wantsColour } from "./paint.js";
import { oneLine, plain, plainBytes } from "./plain.js";
import { Board } from "./progress.js";
import { createPrompts } from "./prompts.js";
import { createRedactor, type Redactor } from "./redact.js";
import { type Canvas, openCanvas, type Screen } from "./screen.js";
import type { InStream, OutStream } from "./streams.js";
import type { Progress, Ui } from "./ui.js";

export interface TerminalOptions {
  /** Opened only for a question: opening costs as much as printing help. */
  stdin: () => InStream;
  stdout: OutStream;
  stderr: OutStream;
  env: NodeJS.ProcessEnv;
  flags: { quiet: boolean; debug: boolean; noColor: boolean; yes: boolean };
  /** The output is JSON or YAML: unless stderr is a terminal, it gets nothing but an error for a program. */
  structured?: boolean;
  signal?: AbortSignal;
  /** The reader of stdout is gone (`clm host list | head -1`). */
  onOutputClosed?: () => void;
}

type StreamName = "stdout" | "stderr";

/** The `Ui` of a real run, and what only the top of the program needs. */
export class Terminal implements Ui {
  readonly #options: TerminalOptions;
  readonly #redactor = createRedactor();
  readonly #byteRedactor = createRedactor((text) => Buffer.from(text).toString("latin1"));
  readonly #results = this.#redactor.stream();
  readonly #foreign = {
    stdout: new ForeignOutput(this.#redactor, this.#byteRedactor),
    stderr: new ForeignOutput(this.#redactor, this.#byteRedactor),
  };
  readonly #unicode: boolean;
  readonly #board: Board;
  /** The last line on stdout has no end yet. */
  #midLine = false;
  #outputClosed = false;
  #outputError: Error | undefined;
  /** Messages to print when the canvas is closed; undefined while there is none. */
  #deferred: string[] | undefined;
  readonly paint: Paint;
  readonly confirm: Ui["confirm"];
  readonly ask: Ui["ask"];
  readonly choose: Ui["choose"];
  readonly askSecret: Ui["askSecret"];
  readonly redact = this.#redactor.text;
  /** One line without secrets and control characters. */
  readonly clean = (text: string): string => this.#redactor.text(oneLine(text));

  constructor(options: TerminalOptions) {
    const { stdout, stderr, env, flags, signal } = options;
    this.#options = options;
    this.#unicode = /utf-?8/i.test(env.LC_ALL || env.LC_CTYPE || env.LANG || "") && env.TERM !== "linux";
    this.paint = createPaint(wantsColour(stderr, env, flags.noColor));
    const live = stderr.isTTY && env.TERM !== "dumb" && !env.CI;
    this.#board = new Board({
      mode: flags.quiet || this.#unwatched ? "quiet" : live ? "live" : "lines",
      write: (text) => stderr.write(this.#redactor.text(text)),
      clean: this.clean,
      size: () => ({ columns: stderr.columns || 80, rows: stderr.rows || 24 }),
      paint: this.paint,
      unicode: this.#unicode,
      debug: flags.debug,
      now: sinceStart,
    });
    const prompts = createPrompts({
      stdin: options.stdin,
      stderr,
      interactive: () => this.interactive,
      yes: flags.yes,
      signal,
      clean: this.clean,
      hide: (secret) => this.hide(secret),
      withTerminal: async (ask) => {
        this.#board.pause();
        return await ask().finally(() => this.#board.resume());
      },
    });
    ({ confirm: this.confirm, ask: this.ask, choose: this.choose, askSecret: this.askSecret } = prompts);
    stdout.on("error", (error: NodeJS.ErrnoException) => {
      if (error.code === "EPIPE" && !this.#outputClosed) {
        this.#outputClosed = true;
        options.onOutputClosed?.();
      }
      this.#outputError ??= error;
    });
    // Without a reader of stderr the work goes on.
    stderr.on("error", () => {});
  }

  out(text: string): Promise<void> | void {
    return this.#put(this.#results.push(text));
  }

  data(value: unknown, write: (value: unknown) => string, stream: StreamName = "stdout"): Promise<void> | void {
    const text = write(redactedValue(value, this.redact));
    if (stream === "stdout") return this.#put(this.#results.flush() + text);
    this.#board.writeAbove(() => this.#options.stderr.write(text));
  }

  handOut(secret: Secret, before = ""): void {
    if (!this.#outputError) this.#options.stdout.write(`${this.#results.flush()}${before}${secret.reveal()}\n`);
  }

  pass(stream: StreamName, bytes: Buffer, { raw = false } = {}): Promise<void> {
    const target = this.#options[stream];
    const ready = this.#foreign[stream].push(bytes, target.isTTY === true && !raw);
    if (ready.length === 0 || (stream === "stdout" && this.#outputError)) return Promise.resolve();
    return new Promise((resolve) => target.write(ready, () => resolve()));
  }

  say(text: string): void {
    if (this.#deferred) this.#deferred.push(text);
    else this.#board.writeAbove(() => this.#options.stderr.write(`${this.redact(text)}\n`));
  }

  fault(fault: Fault): void {
    this.say(faultText(fault, { paint: this.paint, debug: this.#options.flags.debug }));
  }

  note(text: string): void {
    if (!this.#options.flags.quiet) this.say(plain(text));
  }

  hint(text: string): void {
    const { stdout, stderr, flags } = this.#options;
    if (flags.quiet || this.#unwatched) return;
    const line = this.paint.dim(plain(text));
    this.say(this.#midLine && stdout.isTTY && stderr.isTTY ? `\n${line}` : line);
    this.#midLine = false;
  }

  warn(text: string): void {
    this.say(`${this.paint.yellow("warning:")} ${plain(text)}`);
  }

  debug(text: string): void {
    if (this.#options.flags.debug) this.say(this.paint.dim(`debug +${sinceStart()}ms ${plain(text)}`));
  }

  progress(title: string): Progress {
    return this.#board.start(title);
  }

  async lines(prompt: string): Promise<Lines> {
    const { stdin, stderr, signal = new AbortController().signal } = this.#options;
    const { Lines } = await import("./lines.js");
    return new Lines({ stdin: stdin(), stderr, prompt: `${this.paint.bold(this.clean(prompt))} `, signal });
  }

  hide(secret: Secret): void {
    this.#redactor.hide(secret);
    this.#byteRedactor.hide(secret);
  }

  get interactive(): boolean {
    return this.#options.stderr.isTTY === true && this.#options.stdin().isTTY === true;
  }

  get watched(): boolean {
    return this.#options.stdout.isTTY === true;
  }

  /** Columns for a table on stdout; undefined when it is not a terminal, where nothing may be cut. */
  get width(): number | undefined {
    const { stdout } = this.#options;
    return stdout.isTTY ? stdout.columns || 80 : undefined;
  }

  get screen(): Screen | undefined {
    const { stdout, env, flags } = this.#options;
    if (!stdout.isTTY) return undefined;
    return {
      get columns() {
        return stdout.columns || 80;
      },
      get rows() {
        return stdout.rows || 24;
      },
      paint: createPaint(wantsColour(stdout, env, flags.noColor)),
      unicode: this.#unicode,
      open: (onResize) => this.#openCanvas(onResize),
    };
  }

  get outputClosed(): boolean {
    return this.#outputClosed;
  }

  /** Writes what was kept back and waits until stdout has taken it. Throws when it could not. */
  async close(): Promise<void> {
    const { stdout, stderr } = this.#options;
    this.#board.pause();
    const kept = this.#foreign.stderr.flush();
    if (kept.length > 0) stderr.write(kept);
    const rest = Buffer.concat([Buffer.from(this.#results.flush()), this.#foreign.stdout.flush()]);
    await new Promise<void>((resolve) => stdout.write(rest, () => resolve()));
    if (!this.#outputError || this.#outputClosed) return;
    const { message: why } = this.#outputError;
    throw new Fault("local-setup", "the result could not be written", { why, cause: this.#outputError });
  }

  /** Only a program reads the output, and stderr is for its error. */
  get #unwatched(): boolean {
    return this.#options.structured === true && !this.#options.stderr.isTTY;
  }

  #put(ready: string): Promise<void> | void {
    if (ready === "" || this.#outputError) return;
    const { stdout } = this.#options;
    this.#midLine = !ready.endsWith("\n");
    return new Promise((taken) => {
      const write = () => stdout.write(ready, () => taken());
      if (stdout.isTTY) this.#board.writeAbove(write, !this.#midLine);
      else write();
    });
  }

  #openCanvas(onResize: () => void): Canvas {
    this.#board.pause();
    const deferred: string[] = [];
    this.#deferred = deferred;
    const onClose = () => {
      this.#deferred = undefined;
      this.#board.resume();
      for (const text of deferred) this.say(text);
    };
    return openCanvas({ stdout: this.#options.stdout, clean: this.redact, onResize, onClose });
  }
}

/** Output of a program elsewhere, without secrets: as bytes, or as plain text for a terminal. */
class ForeignOutput {
  readonly #bytes;
  /** Cleaned before it is redacted: a secret with an escape sequence inside would not be recognised. */
  readonly #clean = plainBytes();
  readonly #text;

  constructor(redactor: Redactor, byteRedactor: Redactor) {
    this.#bytes = byteRedactor.stream();
    this.#text = redactor.stream();
  }

  push(bytes: Buffer, asText: boolean): Buffer {
    if (asText) return Buffer.from(this.#text.push(this.#clean.push(bytes)));
    return Buffer.from(this.#bytes.push(bytes.toString("latin1")), "latin1");
  }

  flush(): Buffer {
    const text = this.#text.push(this.#clean.flush()) + this.#text.flush();
    return Buffer.concat([Buffer.from(text), Buffer.from(this.#bytes.flush(), "latin1")]);
  }
}

/** Milliseconds. The global `performance` says the same, and loading it takes 2 ms. */
const sinceStart = (): number => Math.round(process.uptime() * 1000);
