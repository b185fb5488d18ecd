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

export type Paint = Record<keyof typeof codes, (text: string) => string>;

export function createPaint(on: boolean): Paint {
  const brush = ([open, close]: readonly [number, number]) => (on ? wrap(open, close) : (text: string) => text);
  return {
    bold: brush(codes.bold),
    dim: brush(codes.dim),
    red: brush(codes.red),
    green: brush(codes.green),
    yellow: brush(codes.yellow),
    magenta: brush(codes.magenta),
    cyan: brush(codes.cyan),
  };
}

const wrap = (open: number, close: number) => (text: string) => `\u001b[${open}m${text}\u001b[${close}m`;

/** Whether a stream gets colours: settings against them come first, then settings for them, then whether it is a terminal. */
export function wantsColour(stream: OutStream, env: NodeJS.ProcessEnv, noColor: boolean): boolean {
  const force = env.FORCE_COLOR;
  if (noColor || env.NO_COLOR) return false;
  if (force !== undefined) return force !== "0" && force !== "false";
  return stream.isTTY === true && env.TERM !== "dumb";
}
