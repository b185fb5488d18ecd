import type { OutStream } from "./streams.js";

const codes = {
  bold: [1, 22],
  dim: [2, 22],
  red: [31, 39],
  green: [32, 39],
  yellow: [33, 39],
  magenta: [35, 39],
  cyan: [36, 39],
} as const;

type Brush = (text: string) => string;
export type Paint = Record<keyof typeof codes, Brush>;

export function createPaint(on: boolean): Paint {
  const brushes = Object.entries(codes).map(([name, [open, close]]): [string, Brush] => [
    name,
    (text) => (on ? `\u001b[${open}m${text}\u001b[${close}m` : text),
  ]);
  return Object.fromEntries(brushes) as Paint;
}

/** Whether a stream gets colours: settings against them come first, then settings for them, then whether it is a terminal. */
export function wantsColour(stream: OutStream, env: NodeJS.ProcessEnv, noColor: boolean): boolean {
  const force = env.FORCE_COLOR;
  if (noColor || env.NO_COLOR) return false;
  if (force !== undefined) return force !== "0" && force !== "false";
  return stream.isTTY === true && env.TERM !== "dumb";
}
