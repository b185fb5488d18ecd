import { type ChildProcess, spawn } from "node:child_process";
import { cp, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";

export const program = resolve(process.env.CLM_DIST ?? "dist", "clm.js");

export interface Result {
  code: number | null;
  signal: NodeJS.Signals | null;
  stdout: string;
  stderr: string;
}

export interface Call {
  home: string;
  env?: NodeJS.ProcessEnv;
  input?: string | Buffer;
  /** Called with the running process, to kill or signal it. */
  during?: (child: ChildProcess) => unknown;
}

/** Runs the built clm as a user would, without a terminal. */
export function clm(args: string[], { home, env = {}, input, during }: Call): Promise<Result> {
  return runProgram(process.execPath, [program, ...args], { CLM_HOME: home, NO_COLOR: "1", ...env }, input, during);
}

// Characters: a hostile host may let clm pass on any number of them.
const mostKept = 64 * 1024 * 1024;

export function runProgram(
  file: string,
  args: string[],
  env: NodeJS.ProcessEnv = {},
  input: string | Buffer = "",
  during?: (child: ChildProcess) => unknown,
): Promise<Result> {
  return new Promise((done, failed) => {
    const child = spawn(file, args, { env: { ...process.env, ...env } });
    let stdout = "";
    let stderr = "";
    child.stdout.on("data", (chunk) => {
      if (stdout.length < mostKept) stdout += chunk;
    });
    child.stderr.on("data", (chunk) => {
      if (stderr.length < mostKept) stderr += chunk;
    });
    child.on("error", failed);
    child.on("close", (code, signal) => done({ code, signal, stdout, stderr }));
    child.stdin.on("error", () => {});
    child.stdin.end(input);
    during?.(child);
  });
}

/** A copy of the fleet's config directory that a test may change. */
export async function copyOfHome(home: string): Promise<{ home: string; remove: () => Promise<void> }> {
  const folder = await mkdtemp(join(tmpdir(), "clm-home-"));
  await cp(home, folder, { recursive: true });
  return { home: folder, remove: () => rm(folder, { recursive: true, force: true }) };
}

/** Runs a script as root inside a lab host, without SSH. Throws when it fails. */
export async function inHost(host: string, script: string): Promise<string> {
  const { code, stdout, stderr } = await clm(["lab", "exec", host, "--", "/bin/sh", "-c", script], {
    home: "/nonexistent",
  });
  if (code !== 0) throw new Error(`in ${host}: ${script}\nended with ${code}: ${stderr}`);
  return stdout;
}

/** Acts as soon as a command runs on a host. */
export async function whenRunning(host: string, command: string, act: () => unknown): Promise<void> {
  const pattern = command.replace(/^./, "^[$&]");
  await inHost(host, `for n in $(seq 300); do pgrep -f '${pattern}' >/dev/null && exit 0; sleep 0.1; done; exit 1`);
  // Its output so far may still be on its way.
  await new Promise((done) => setTimeout(done, 300));
  await act();
}
