import { createInterface } from "node:readline";
import { Writable } from "node:stream";
import type { InStream, OutStream } from "./streams.js";

/** What a person types at a prompt, message by message. */
export interface Lines {
  /** The next message: a line, or several that were pasted at once. Nothing when the person left with Ctrl-C or Ctrl-D. */
  next(): Promise<string | undefined>;
  /** While the work goes on, Ctrl-C calls `stop`, and what is typed waits for the next prompt. */
  during<T>(work: () => Promise<T>, stop: () => void): Promise<T>;
  close(): void;
}

export interface LinesOptions {
  stdin: InStream;
  stderr: OutStream;
  prompt: string;
  signal: AbortSignal;
}

/** Milliseconds within which the lines of a paste follow each other; nobody types that fast. */
const pasteMs = 30;

/** Lines with editing and a history that lasts as long as the program. The prompt goes to stderr: stdout is for answers. */
export function createLines({ stdin, stderr, prompt, signal }: LinesOptions): Lines {
  let hidden = true;
  let closed = false;
  let typed: string[] = [];
  let timer: NodeJS.Timeout | undefined;
  let deliver: ((message: string | undefined) => void) | undefined;
  let stopWork: (() => void) | undefined;

  const screen = new Writable({
    write(chunk, _encoding, done) {
      if (!hidden) stderr.write(chunk);
      // At once: what waited here could be overtaken, or come when nothing is to be shown any more.
      done();
    },
  });
  const shown = Object.assign(screen, { isTTY: true, columns: stderr.columns || 80, rows: stderr.rows || 24 });
  const onResize = () => {
    Object.assign(shown, { columns: stderr.columns || 80, rows: stderr.rows || 24 });
    shown.emit("resize");
  };
  stderr.on("resize", onResize);
  const reader = createInterface({ input: stdin, output: shown as never, terminal: true, prompt, historySize: 500 });

  function give(message: string | undefined): void {
    clearTimeout(timer);
    const waiting = deliver;
    if (!waiting) return;
    deliver = undefined;
    if (message !== undefined) typed = [];
    hidden = true;
    waiting(message);
  }

  // The last line of a paste may have no end yet: then the message is not over.
  const giveTyped = () => {
    if (reader.line === "") give(typed.join("\n"));
  };

  function interrupt(): void {
    if (stopWork) stopWork();
    else if (reader.line === "" && typed.length === 0) {
      stderr.write("\n");
      give(undefined);
    } else {
      typed = [];
      // It stays to be seen, as in a shell.
      reader.write(null, { ctrl: true, name: "e" });
      hidden = true;
      reader.write(null, { ctrl: true, name: "u" });
      hidden = false;
      // A dumb terminal knows no key that takes a line back.
      Object.assign(reader, { line: "", cursor: 0 });
      stderr.write("\n");
      reader.prompt();
    }
  }

  reader.on("line", (line) => {
    typed.push(line);
    if (!deliver) return;
    clearTimeout(timer);
    timer = setTimeout(giveTyped, pasteMs);
  });
  reader.on("SIGINT", interrupt);
  reader.on("close", () => {
    closed = true;
    // Ctrl-D leaves the cursor behind the prompt.
    if (deliver) stderr.write("\n");
    give(undefined);
  });
  const leave = () => reader.close();
  signal.addEventListener("abort", leave, { once: true });

  return {
    next() {
      if (closed) return Promise.resolve(undefined);
      return new Promise((done) => {
        deliver = done;
        hidden = false;
        // What was typed ahead is shown where it belongs: behind the prompt.
        if (typed.length > 0 && reader.line === "") {
          stderr.write(`${prompt}${typed.join("\n")}\n`);
          return give(typed.join("\n"));
        }
        reader.prompt(true);
      });
    },
    async during(work, stop) {
      stopWork = stop;
      try {
        return await work();
      } finally {
        stopWork = undefined;
      }
    },
    close() {
      signal.removeEventListener("abort", leave);
      stderr.off("resize", onResize);
      reader.close();
    },
  };
}
