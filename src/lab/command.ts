import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { Fault } from "../errors.js";
import { lastLines } from "../text/last-lines.js";

export interface CommandOptions {
  /** Its stdin; empty by default. */
  input?: string;
  signal?: AbortSignal | undefined;
  /** Gets every line of both streams. */
  output?: ((line: string) => void) | undefined;
  env?: Record<string, string>;
  timeoutMs?: number;
  /** Finishes even when clm is killed. */
  outlives?: boolean;
}

export interface CommandResult {
  /** null when a signal ended it. */
  code: number | null;
  stdout: string;
  stderr: string;
}

/** Includes Debian's sbin directories, which a login shell's PATH often lacks. */
export const searchPath = `${process.env.PATH ?? "/usr/bin:/bin"}:/usr/local/sbin:/usr/sbin:/sbin`;

export function hasProgram(name: string): boolean {
  return searchPath.split(":").some((directory) => existsSync(join(directory, name)));
}

export async function attempt(program: string, args: string[], options: CommandOptions = {}): Promise<CommandResult> {
  stopIfAborted(options.signal);
  if (!hasProgram(program)) throw new Fault("local-setup", `the program '${program}' is not on this machine`);
  // It ends with clm, even on a kill: otherwise it would interfere with the `down` that follows.
  const [file, ...words] = options.outlives ? [program, ...args] : ["setpriv", "--pdeathsig", "KILL", program, ...args];
  const child = spawn(file, words, {
    env: { ...process.env, PATH: searchPath, LC_ALL: "C.UTF-8", ...options.env },
    stdio: "pipe",
    // Its own process group: Ctrl-C is handled by clm alone.
    detached: true,
    // SIGKILL: a program interrupted half-way would leave a mess anyway.
    killSignal: "SIGKILL",
    ...(options.signal && { signal: options.signal }),
    ...(options.timeoutMs !== undefined && { timeout: options.timeoutMs }),
  });
  // A program may end without reading all its input: its exit code counts, not EPIPE.
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

/** Runs a local program and returns its stdout; throws when it fails. */
export async function run(program: string, args: string[], options: CommandOptions = {}): Promise<string> {
  const { code, stdout, stderr } = await attempt(program, args, options);
  if (code === 0) return stdout;
  throw new Fault("local-setup", `'${[program, ...args].join(" ").slice(0, 200)}' failed on this machine`, {
    why: [
      ...lastLines(stderr || stdout, 5),
      code === null ? "it was killed by a signal or timed out" : `exit code ${code}`,
    ],
  });
}

export function interrupted(): Fault {
  return new Fault("interrupted", "stopped before the lab was ready", {
    why: "the same command continues from here",
  });
}

export function stopIfAborted(signal: AbortSignal | undefined): void {
  if (signal?.aborted) throw interrupted();
}
