import { cut } from "./columns.js";
import type { Paint } from "./paint.js";
import type { OutStream } from "./streams.js";

/** stdout, when it is a terminal. */
export interface Screen {
  readonly columns: number;
  readonly rows: number;
  readonly paint: Paint;
  /** It can show more than ASCII. */
  readonly unicode: boolean;
  /** Takes the whole screen until `close`, which restores it, however clm ends. */
  open(onResize: () => void): Canvas;
}

export interface Canvas {
  /** Replaces the lines on the screen. Those that do not fit are left out. */
  draw(lines: readonly string[]): void;
  close(): void;
}

// The alternate screen, no cursor, and no line wrap.
const enter = "\u001b[?1049h\u001b[?25l\u001b[?7l";
const leave = "\u001b[?7h\u001b[?25h\u001b[?1049l";

export interface CanvasOptions {
  stdout: OutStream;
  clean: (text: string) => string;
  onResize: () => void;
  onClose: () => void;
}

export function openCanvas({ stdout, clean, onResize, onClose }: CanvasOptions): Canvas {
  let open = true;
  const close = () => {
    if (!open) return;
    open = false;
    process.removeListener("exit", close);
    stdout.removeListener("resize", onResize);
    stdout.write(leave);
    onClose();
  };
  // For a second Ctrl-C, which ends clm at once: writes to a terminal are synchronous.
  process.once("exit", close);
  stdout.on("resize", onResize);
  stdout.write(enter);
  return {
    draw(lines) {
      if (!open) return;
      const rows = stdout.rows || 24;
      // Erased before writing: after a full line the cursor is on its last character.
      const shown = lines.slice(0, rows).map((line) => `\u001b[K${clean(line)}`);
      stdout.write(`\u001b[H${shown.join("\r\n")}${shown.length < rows ? "\r\n\u001b[J" : ""}`);
    },
    close,
  };
}

/** The lines that fit; the last one counts the others. */
export function fitted(lines: readonly string[], rows: number, columns: number): string[] {
  if (lines.length <= rows) return [...lines];
  const kept = lines.slice(0, Math.max(0, rows - 1));
  return [...kept, cut(`… ${lines.length - kept.length} more`, columns)];
}
