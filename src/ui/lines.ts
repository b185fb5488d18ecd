import { createInterface, type Interface } from "node:readline";
import { Writable } from "node:stream";
import type { InStream, OutStream } from "./streams.js";

export interface LinesOptions {
  stdin: InStream;
  stderr: OutStream;
  prompt: string;
  signal: AbortSignal;
}

/** Milliseconds within which the lines of a paste follow each other; typing is slower. */
const pasteMs = 30;

/** Messages typed at a prompt, with editing and a history. The prompt goes to stderr: stdout is for answers. */
export class Lines {
  readonly #options: LinesOptions;
  readonly #reader: Interface;
  readonly #screen: Screen;
  #typed: string[] = [];
  #closed = false;
  #pasteTimer: NodeJS.Timeout | undefined;
  #deliver: ((message: string | undefined) => void) | undefined;
  #stopWork: (() => void) | undefined;
  readonly #close = () => this.#reader.close();

  constructor(options: LinesOptions) {
    const { stdin, stderr, prompt, signal } = options;
    this.#options = options;
    this.#screen = new Screen(stderr);
    const output = this.#screen as never;
    this.#reader = createInterface({ input: stdin, output, terminal: true, prompt, historySize: 500 });
    this.#reader.on("line", (line) => {
      this.#typed.push(line);
      if (!this.#deliver) return;
      clearTimeout(this.#pasteTimer);
      // The last line of a paste may have no end yet: then the message is not complete.
      this.#pasteTimer = setTimeout(() => this.#reader.line === "" && this.#give(this.#typed.join("\n")), pasteMs);
    });
    this.#reader.on("SIGINT", () => this.#interrupt());
    this.#reader.on("close", () => {
      this.#closed = true;
      // Ctrl-D leaves the cursor behind the prompt.
      if (this.#deliver) stderr.write("\n");
      this.#give(undefined);
    });
    signal.addEventListener("abort", this.#close, { once: true });
  }

  /** The next message: a line, or several pasted at once. Undefined after Ctrl-C or Ctrl-D. */
  next(): Promise<string | undefined> {
    if (this.#closed) return Promise.resolve(undefined);
    return new Promise((done) => {
      this.#deliver = done;
      this.#screen.hidden = false;
      // Text typed ahead is shown behind the prompt.
      if (this.#typed.length > 0 && this.#reader.line === "") {
        const ahead = this.#typed.join("\n");
        this.#options.stderr.write(`${this.#options.prompt}${ahead}\n`);
        return this.#give(ahead);
      }
      this.#reader.prompt(true);
    });
  }

  /** While the work goes on, Ctrl-C calls `stop`, and what is typed waits for the next prompt. */
  async during<T>(work: () => Promise<T>, stop: () => void): Promise<T> {
    this.#stopWork = stop;
    try {
      return await work();
    } finally {
      this.#stopWork = undefined;
    }
  }

  close(): void {
    this.#options.signal.removeEventListener("abort", this.#close);
    this.#screen.leave();
    this.#reader.close();
  }

  #give(message: string | undefined): void {
    clearTimeout(this.#pasteTimer);
    const deliver = this.#deliver;
    if (!deliver) return;
    this.#deliver = undefined;
    if (message !== undefined) this.#typed = [];
    this.#screen.hidden = true;
    deliver(message);
  }

  #interrupt(): void {
    const { stderr } = this.#options;
    const reader = this.#reader;
    if (this.#stopWork) this.#stopWork();
    else if (reader.line === "" && this.#typed.length === 0) {
      stderr.write("\n");
      this.#give(undefined);
    } else {
      this.#typed = [];
      // The abandoned line stays visible, as in a shell.
      reader.write(null, { ctrl: true, name: "e" });
      this.#screen.hidden = true;
      reader.write(null, { ctrl: true, name: "u" });
      this.#screen.hidden = false;
      // A dumb terminal has no key that clears the line.
      Object.assign(reader, { line: "", cursor: 0 });
      stderr.write("\n");
      reader.prompt();
    }
  }
}

/** The terminal that readline gets: stderr, while a message is being typed. */
class Screen extends Writable {
  readonly isTTY = true;
  hidden = true;
  readonly #stderr: OutStream;
  readonly #onResize = () => this.emit("resize");

  constructor(stderr: OutStream) {
    super();
    this.#stderr = stderr;
    stderr.on("resize", this.#onResize);
  }

  get columns(): number {
    return this.#stderr.columns || 80;
  }

  get rows(): number {
    return this.#stderr.rows || 24;
  }

  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    if (!this.hidden) this.#stderr.write(chunk);
    // At once: a delayed chunk could be overtaken, or come when nothing may be shown any more.
    done();
  }

  leave(): void {
    this.#stderr.off("resize", this.#onResize);
  }
}
