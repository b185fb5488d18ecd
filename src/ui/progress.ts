import { columns, cut } from "./columns.js";
import type { Paint } from "./paint.js";
import { duration } from "./time.js";
import type { Progress } from "./ui.js";

export interface BoardOptions {
  mode: "live" | "lines" | "quiet";
  write(text: string): void;
  /** One line without secrets. Applied before a line is cut: half a secret would not be recognised. */
  clean(text: string): string;
  size(): { columns: number; rows: number };
  paint: Paint;
  unicode: boolean;
  /** The output of the work stays on the screen. */
  debug: boolean;
  /** Milliseconds of a monotonic clock. */
  now(): number;
}

interface Work {
  title: string;
  began: number;
  doing: string;
  output: string;
}

const frameMs = 80;
const reminderMs = 10_000;
/** Shorter work is shown without its duration. */
const slowMs = 3000;

/**
 * Live progress: on a terminal, a line per piece of work below everything else; elsewhere, lines when work begins,
 * goes on and ends. Written by hand: several lines are live at once, results come between them, and all is redacted.
 */
export class Board {
  readonly #options: BoardOptions;
  readonly #running = new Set<Work>();
  #drawn = 0;
  #frame = 0;
  #paused = false;
  #midLine = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: BoardOptions) {
    this.#options = options;
  }

  start(title: string): Progress {
    const { mode, write, clean, paint, debug, now } = this.#options;
    const work: Work = { title, began: now(), doing: "", output: "" };
    this.#running.add(work);
    if (mode === "lines") this.writeAbove(() => write(`${clean(title)} ...\n`));
    if (mode === "live") this.#timer ??= setInterval(() => this.#tick(), frameMs).unref();
    if (mode === "lines") this.#timer ??= setInterval(() => this.#remind(), reminderMs).unref();
    return {
      update: (message) => {
        work.doing = message;
      },
      output: (line) => {
        work.output = line;
        if (debug) this.writeAbove(() => write(`${paint.dim(`  ${clean(line)}`)}\n`));
      },
      done: (message) => this.#end(work, "done", message),
      fail: (message) => this.#end(work, "failed", message),
    };
  }

  /** Lets something else write, with the live lines out of the way. */
  writeAbove(writeIt: () => void, endsLine = true): void {
    const wasLive = this.#drawn > 0;
    this.#erase();
    writeIt();
    this.#midLine = !endsLine;
    if (wasLive) this.#draw();
  }

  /** No live lines until `resume`: something else has the terminal. */
  pause(): void {
    this.#erase();
    this.#paused = true;
  }

  resume(): void {
    this.#paused = false;
  }

  #tick(): void {
    this.#stopWhenIdle();
    this.#frame++;
    this.#draw();
  }

  #remind(): void {
    const { write } = this.#options;
    for (const work of this.#running) this.writeAbove(() => write(`${this.#textOf(work)}\n`));
    this.#stopWhenIdle();
  }

  #stopWhenIdle(): void {
    if (this.#running.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  #erase(): void {
    if (this.#drawn > 0) this.#options.write(this.#eraser());
  }

  #eraser(): string {
    const text = this.#drawn > 0 ? `\u001b[${this.#drawn}A\r\u001b[J` : "";
    this.#drawn = 0;
    return text;
  }

  #draw(): void {
    if (this.#paused || this.#midLine || this.#running.size === 0) return;
    const { size, paint, write } = this.#options;
    const { columns: width, rows } = size();
    // A line that reached the last column or the last row would scroll, and erasing it would take other text with it.
    const shown = [...this.#running].slice(0, Math.max(1, rows - 2));
    const lines = shown.map((work) => this.#lineOf(work, width - 1));
    const more = this.#running.size - shown.length;
    if (more > 0) lines.push(paint.dim(cut(`… and ${more} more`, width - 1)));
    write(this.#eraser() + lines.map((line) => `${line}\n`).join(""));
    this.#drawn = lines.length;
  }

  #lineOf(work: Work, width: number): string {
    const { unicode, clean, paint } = this.#options;
    const spinner = unicode ? "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏" : "|/-\\";
    const head = cut(`${spinner[this.#frame % spinner.length]} ${this.#textOf(work)}`, width);
    return work.output ? head + paint.dim(cut(`  ${clean(work.output)}`, width - columns(head))) : head;
  }

  #textOf(work: Work): string {
    const { clean } = this.#options;
    return `${clean(work.title)}${work.doing && `: ${clean(work.doing)}`}${this.#since(work)}`;
  }

  #since({ began }: Work): string {
    const passed = this.#options.now() - began;
    return passed < slowMs ? "" : ` (${duration(passed)})`;
  }

  #end(work: Work, result: "done" | "failed", message: string | undefined): void {
    const { mode, unicode, paint, clean, write } = this.#options;
    if (!this.#running.delete(work) || mode === "quiet") return;
    const marks = unicode ? { done: "✔", failed: "✖" } : { done: "ok", failed: "failed" };
    const colour = result === "done" ? paint.green : paint.red;
    const text = clean(message ?? work.title) + this.#since(work);
    this.writeAbove(() => write(`${mode === "live" ? `${colour(marks[result])} ` : `${result}: `}${text}\n`));
  }
}
