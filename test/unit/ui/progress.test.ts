import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { createPaint } from "../../../src/ui/paint.js";
import { Board, type BoardOptions } from "../../../src/ui/progress.js";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

function board(options: Partial<BoardOptions> = {}) {
  const screen = createScreen();
  const made = new Board({
    mode: "live",
    write: screen.write,
    clean: (text) => text,
    size: () => ({ columns: 40, rows: 10 }),
    paint: createPaint(false),
    unicode: true,
    debug: false,
    now: () => Date.now(),
    ...options,
  });
  return { board: made, screen };
}

/** The lines a terminal would show, for the two sequences the board uses: up by n, and erase to the end. */
function createScreen() {
  const lines: string[] = [""];
  let row = 0;
  const write = (text: string) => {
    // biome-ignore lint/suspicious/noControlCharactersInRegex: escape sequences are what is looked for.
    for (const [part, up] of text.matchAll(/\u001b\[(\d+)A|\u001b\[J|\r|\n|[^\u001b\r\n]+/g)) {
      if (up) row -= Number(up);
      else if (part === "\u001b[J") lines.splice(row, lines.length, "");
      else if (part === "\n") lines[++row] ??= "";
      else if (part !== "\r") lines[row] += part;
    }
  };
  return { write, lines: () => lines.slice(0, lines.at(-1) === "" ? -1 : undefined) };
}

const frame = () => vi.advanceTimersByTime(80);

describe("on a terminal", () => {
  it("each task has a line, below finished tasks and messages", () => {
    const { board: b, screen } = board();
    const one = b.start("one");
    const two = b.start("two");
    frame();
    expect(screen.lines()).toEqual(["⠙ one", "⠙ two"]);
    one.update("half");
    frame();
    expect(screen.lines()).toEqual(["⠹ one: half", "⠹ two"]);
    b.writeAbove(() => screen.write("a result\n"));
    expect(screen.lines()).toEqual(["a result", "⠹ one: half", "⠹ two"]);
    one.done();
    expect(screen.lines()).toEqual(["a result", "✔ one", "⠹ two"]);
    two.fail("two broke");
    expect(screen.lines()).toEqual(["a result", "✔ one", "✖ two broke"]);
    frame();
    expect(screen.lines()).toEqual(["a result", "✔ one", "✖ two broke"]);
    expect(vi.getTimerCount()).toBe(0);
  });

  it("ends once", () => {
    const { board: b, screen } = board();
    const work = b.start("work");
    work.done();
    work.fail("again");
    expect(screen.lines()).toEqual(["✔ work"]);
  });

  it("shows the time of a long task", () => {
    const { board: b, screen } = board();
    const work = b.start("work");
    vi.advanceTimersByTime(2999);
    expect(screen.lines()[0]).toMatch(/^. work$/);
    vi.advanceTimersByTime(61_000);
    expect(screen.lines()[0]).toMatch(/^. work \(1m\)$/);
    work.done();
    expect(screen.lines()).toEqual(["✔ work (1m)"]);
  });

  it("never fills a line or the screen", () => {
    const { board: b, screen } = board();
    const works = Array.from({ length: 50 }, (_, n) => b.start(`work ${n} ${"x".repeat(80)}`));
    frame();
    expect(screen.lines()).toHaveLength(9);
    expect(screen.lines().at(-1)).toBe("… and 42 more");
    for (const line of screen.lines()) expect(line.length).toBeLessThan(40);
    for (const work of works) work.done("ok");
    expect(screen.lines()).toEqual(Array(50).fill("✔ ok"));
  });

  it("shows the work's output while it runs, and for good with --debug", () => {
    const { board: b, screen } = board();
    const work = b.start("base");
    work.output("Unpacking libc6");
    frame();
    expect(screen.lines()).toEqual(["⠙ base  Unpacking libc6"]);
    work.done();
    expect(screen.lines()).toEqual(["✔ base"]);
    const debugging = board({ debug: true });
    debugging.board.start("base").output("Unpacking libc6");
    expect(debugging.screen.lines()).toEqual(["  Unpacking libc6"]);
  });

  it("waits while a line is unfinished or another program has the terminal", () => {
    const { board: b, screen } = board();
    b.start("work");
    frame();
    b.writeAbove(() => screen.write("half"), false);
    frame();
    expect(screen.lines()).toEqual(["half"]);
    b.writeAbove(() => screen.write(" and half\n"));
    frame();
    expect(screen.lines()).toEqual(["half and half", expect.stringContaining("work")]);
    b.pause();
    frame();
    expect(screen.lines()).toEqual(["half and half"]);
    b.resume();
    frame();
    expect(screen.lines()).toEqual(["half and half", expect.stringContaining("work")]);
  });

  it("cleans before it cuts", () => {
    const { board: b, screen } = board({ clean: (text) => text.replace(/hunter2000/g, "[secret]") });
    b.start(`${"x".repeat(30)} hunter2000`).output("hunter2000");
    frame();
    expect(screen.lines().join()).not.toContain("hunt");
  });

  it("does without unicode", () => {
    const { board: b, screen } = board({ unicode: false });
    b.start("one").done();
    b.start("two").fail();
    expect(screen.lines()).toEqual(["ok one", "failed two"]);
  });
});

it("without a terminal it prints the start and end of a task, and that it is still running", () => {
  const { board: b, screen } = board({ mode: "lines" });
  const work = b.start("make the base");
  work.update("unpack");
  work.output("libc6");
  vi.advanceTimersByTime(21_000);
  work.done("the base is made");
  vi.advanceTimersByTime(60_000);
  expect(screen.lines()).toEqual([
    "make the base ...",
    "make the base: unpack (10s)",
    "make the base: unpack (20s)",
    "done: the base is made (21s)",
  ]);
});

it("prints nothing with --quiet", () => {
  const { board: b, screen } = board({ mode: "quiet" });
  b.start("work").done();
  frame();
  expect(screen.lines()).toEqual([]);
});
