import { columns, cut } from "./columns.js";
import type { Paint } from "./paint.js";
import { duration } from "./time.js";
import type { Progress } from "./ui.js";

/**
 * What is going on right now. On a terminal each piece of work owns a line below everything else; elsewhere a line says
 * that it began, one that it ended, and one now and then that it still goes on. Written by hand because several lines live at once, results may come between
 * them, and every character has to pass the redactor.
 */
export interface Board {
  start(title: string): Progress;
  /** Lets something else write, with the live lines out of the way. */
  aside(write: () => void, endsLine?: boolean): void;
  /** No live lines until `resume`: somebody else has the terminal. */
  pause(): void;
  resume(): void;
}

export interface BoardOptions {
  mode: "live" | "lines" | "quiet";
  write(text: string): void;
  /** One line with nothing in it that must not show. Comes before cutting: half a secret is not recognised any more. */
  clean(text: string): string;
  size(): { columns: number; rows: number };
  paint: Paint;
  unicode: boolean;
  /** Output of the work is shown for good. */
  debug: boolean;
  /** Milliseconds that only ever grow. */
  now(): number;
}

interface Work {
  title: string;
  began: number;
  doing: string;
  output: string;
}

const frameMs = 80;
/** Whoever reads a log of plain lines wants to know that something still happens, and no more. */
const reminderMs = 10_000;
/** Work that is done sooner needs no clock. */
const slowMs = 3000;

export function createBoard({ mode, write, clean, size, paint, unicode, debug, now }: BoardOptions): Board {
  const spinner = unicode ? "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏" : "|/-\\";
  const marks = unicode ? { done: "✔", failed: "✖" } : { done: "ok", failed: "failed" };
  const running = new Set<Work>();
  let drawn = 0;
  let frame = 0;
  let paused = false;
  let midLine = false;
  let timer: NodeJS.Timeout | undefined;

  const since = (work: Work) => {
    const passed = now() - work.began;
    return passed < slowMs ? "" : ` (${duration(passed)})`;
  };

  function lineOf(work: Work, width: number): string {
    const doing = work.doing && `: ${clean(work.doing)}`;
    const head = cut(`${spinner[frame % spinner.length]} ${clean(work.title)}${doing}${since(work)}`, width);
    return work.output ? head + paint.dim(cut(`  ${clean(work.output)}`, width - columns(head))) : head;
  }

  function erase(): string {
    const text = drawn > 0 ? `\u001b[${drawn}A\r\u001b[J` : "";
    drawn = 0;
    return text;
  }

  function draw(): void {
    if (paused || midLine || running.size === 0) return;
    const { columns: width, rows } = size();
    // A line that reached the last column or the last row would scroll, and erasing it would take other text with it.
    const shown = [...running].slice(0, Math.max(1, rows - 2));
    const lines = shown.map((work) => lineOf(work, width - 1));
    if (shown.length < running.size) lines.push(paint.dim(cut(`… and ${running.size - shown.length} more`, width - 1)));
    write(erase() + lines.map((line) => `${line}\n`).join(""));
    drawn = lines.length;
  }

  function tick(): void {
    if (running.size === 0) {
      clearInterval(timer);
      timer = undefined;
    }
    frame++;
    draw();
  }

  function remind(): void {
    for (const work of running) {
      const doing = work.doing && `: ${clean(work.doing)}`;
      aside(() => write(`${clean(work.title)}${doing}${since(work)}\n`));
    }
    if (running.size === 0) {
      clearInterval(timer);
      timer = undefined;
    }
  }

  function aside(writeIt: () => void, endsLine = true): void {
    const wasLive = drawn > 0;
    if (wasLive) write(erase());
    writeIt();
    midLine = !endsLine;
    if (wasLive) draw();
  }

  function end(work: Work, mark: "done" | "failed", message: string | undefined): void {
    if (!running.delete(work) || mode === "quiet") return;
    const colour = mark === "done" ? paint.green : paint.red;
    const said = clean(message ?? work.title) + since(work);
    const line = mode === "live" ? `${colour(marks[mark])} ${said}` : `${mark}: ${said}`;
    aside(() => write(`${line}\n`));
  }

  return {
    aside,
    start(title) {
      const work: Work = { title, began: now(), doing: "", output: "" };
      running.add(work);
      if (mode === "lines") aside(() => write(`${clean(title)} ...\n`));
      if (mode !== "quiet")
        timer ??= setInterval(mode === "live" ? tick : remind, mode === "live" ? frameMs : reminderMs).unref();
      return {
        update: (message) => {
          work.doing = message;
        },
        output: (line) => {
          work.output = line;
          if (debug) aside(() => write(`${paint.dim(`  ${clean(line)}`)}\n`));
        },
        done: (message) => end(work, "done", message),
        fail: (message) => end(work, "failed", message),
      };
    },
    pause() {
      if (drawn > 0) write(erase());
      paused = true;
    },
    resume() {
      paused = false;
    },
  };
}
