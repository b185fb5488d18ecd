import { cut } from "./columns.js";
import type { Paint } from "./paint.js";
import type { OutStream } from "./streams.js";

/** The terminal that results go to. */
export interface Screen {
  readonly columns: number;
  readonly rows: number;
  /** Colours for what is written there. */
  readonly paint: Paint;
  /** It shows more than ASCII. */
  readonly unicode: boolean;
  /** Takes all of it until `close`; what stood there comes back then, however clm ends. */
  open(onResize: () => void): Canvas;
}

export interface Canvas {
  /** Puts these lines in the place of those before. What does not fit is left out. */
  draw(lines: readonly string[]): void;
  close(): void;
}

// Another screen than the one the shell is on, no cursor, and a line that is too long is cut, not wrapped.
const enter = "\u001b[?1049h\u001b[?25l\u001b[?7l";
const leave = "\u001b[?7h\u001b[?25h\u001b[?1049l";

export interface CanvasOptions {
  stdout: OutStream;
  /** Nothing in it that must not show. */
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
  // A second Ctrl-C ends clm where it stands, and a terminal is written to before that.
  process.once("exit", close);
  stdout.on("resize", onResize);
  stdout.write(enter);
  return {
    draw(lines) {
      if (!open) return;
      const rows = stdout.rows || 24;
      // Erased before it is written: after a full line the cursor stands on its last character.
      const shown = lines.slice(0, rows).map((line) => `\u001b[K${clean(line)}`);
      stdout.write(`\u001b[H${shown.join("\r\n")}${shown.length < rows ? "\r\n\u001b[J" : ""}`);
    },
    close,
  };
}

/** As many lines as there is room for; the last says how many more there are. */
export function fitted(lines: readonly string[], rows: number, columns: number): string[] {
  if (lines.length <= rows) return [...lines];
  const kept = lines.slice(0, Math.max(0, rows - 1));
  return [...kept, cut(`… ${lines.length - kept.length} more`, columns)];
}
