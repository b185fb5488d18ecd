import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { Fault } from "../errors.js";

export interface CommandOptions {
  /** Written to its stdin; without it stdin is empty. */
  input?: string;
  signal?: AbortSignal | undefined;
  /** Given every line it prints, from both streams, as it comes. */
  output?: ((line: string) => void) | undefined;
  env?: Record<string, string>;
  timeoutMs?: number;
  /** Finishes even when we are killed: for what must not be cut short. */
  outlives?: boolean;
}

export interface CommandResult {
  /** null when a signal ended it. */
  code: number | null;
  stdout: string;
  stderr: string;
}

/** Where Debian keeps what only root runs; a login shell's PATH often lacks it. */
export const searchPath = `${process.env.PATH ?? "/usr/bin:/bin"}:/usr/local/sbin:/usr/sbin:/sbin`;

export function hasProgram(name: string): boolean {
  return searchPath.split(":").some((directory) => existsSync(join(directory, name)));
}

/** Runs a program of this machine to its end, whatever that end is. */
export async function attempt(program: string, args: string[], options: CommandOptions = {}): Promise<CommandResult> {
  stopIfAborted(options.signal);
  if (!hasProgram(program)) throw new Fault("local-setup", `the program '${program}' is not on this machine`);
  // It ends when we do, however we do: what still worked on after a kill would work against the `down` that follows.
  const [file, ...words] = options.outlives ? [program, ...args] : ["setpriv", "--pdeathsig", "KILL", program, ...args];
  const child = spawn(file, words, {
    env: { ...process.env, PATH: searchPath, LC_ALL: "C.UTF-8", ...options.env },
    stdio: "pipe",
    // Out of reach of the terminal's Ctrl-C, which is ours to act on.
    detached: true,
    // A half-killed program leaves a mess: there is no asking, only ending.
    killSignal: "SIGKILL",
    ...(options.signal && { signal: options.signal }),
    ...(options.timeoutMs !== undefined && { timeout: options.timeoutMs }),
  });
  // A program that ends without reading all its input is judged by its exit code, not by our broken pipe.
  child.stdin.on("error", () => {});
  child.stdin.end(options.input ?? "");
  const ended: CommandResult = { code: null, stdout: "", stderr: "" };
  for (const stream of ["stdout", "stderr"] as const) {
    let line = "";
    child[stream].setEncoding("utf8").on("data", (text: string) => {
      ended[stream] += text;
      const lines = (line + text).split(/[\r\n]+/);
      line = lines.pop() ?? "";
      for (const each of lines) if (each.trim()) options.output?.(each);
    });
  }
  return new Promise((resolve, reject) => {
    child.on("error", (error) => {
      if (error.name !== "AbortError") reject(error);
    });
    child.on("close", (code) => {
      if (options.signal?.aborted) reject(interrupted());
      else resolve({ ...ended, code });
    });
  });
}

/** Runs a program of this machine and gives back what it printed; anything but success is a fault. */
export async function run(program: string, args: string[], options: CommandOptions = {}): Promise<string> {
  const { code, stdout, stderr } = await attempt(program, args, options);
  if (code === 0) return stdout;
  throw new Fault("local-setup", `'${[program, ...args].join(" ").slice(0, 200)}' failed on this machine`, {
    why: [
      ...lastLines(stderr || stdout, 5),
      code === null ? "it was ended by a signal or took too long" : `exit code ${code}`,
    ],
  });
}

export function lastLines(text: string, count: number): string[] {
  return text
    .split(/[\r\n]+/)
    .filter((line) => line.trim())
    .slice(-count);
}

export function interrupted(): Fault {
  return new Fault("interrupted", "stopped before the lab was as wished", {
    why: "what was done so far stays; the same command carries on from there",
  });
}

export function stopIfAborted(signal: AbortSignal | undefined): void {
  if (signal?.aborted) throw interrupted();
}
