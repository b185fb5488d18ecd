import { spawn, spawnSync } from "node:child_process";
import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Process, Shell } from "../../../../src/remote/process.js";

/** A shell of this machine in the place of a host's /bin/sh, with the tools that come with it. */
export interface LocalShell extends Shell {
  readonly name: string;
  /** The program that stands in for /bin/sh. */
  readonly sh: string;
  /** The exec calls so far. */
  readonly commands: string[];
}

interface Options {
  /** What becomes of a command on its way: `(command) => "echo Welcome; exec " + command`. */
  wrap?: (command: string) => string;
  /** The file on which the host's runs wait for each other; without it, they do not. */
  lock?: string;
}

/** A shell that starts children of ours. */
function localShell(name: string, sh: string, path: string, options: Options = {}): LocalShell {
  const commands: string[] = [];
  const local: LocalShell = {
    name,
    sh,
    commands,
    as: () => local,
    async spawn(command) {
      commands.push(command);
      const here = command.replace(/^(exec )?\/bin\/sh /, `${sh} `);
      const child = spawn("/bin/sh", ["-c", options.wrap?.(here) ?? `exec ${here}`], {
        env: { PATH: path, SECRET: "of the login", CLM_LOCK: options.lock ?? "/proc/no/lock" },
        detached: true,
      });
      const kill: Process["kill"] = (name = "TERM") => {
        if (child.pid && child.exitCode === null) process.kill(-child.pid, `SIG${name}`);
      };
      const done: Process["done"] = new Promise((resolve, reject) => {
        child.on("error", reject);
        child.on("close", (code, by) => resolve(by === null ? { code } : { code, signal: by }));
      });
      const { stdin, stdout, stderr } = child;
      // As Process promises; without this a command that reads nothing ends the test run with EPIPE.
      stdin.on("error", () => {});
      const leave = () => [stdin, stdout, stderr].forEach((stream) => void stream.destroy());
      return { stdin, stdout, stderr, done, kill, leave };
    },
  };
  return local;
}

const answer = (program: string, argument: string) => spawnSync(program, [argument], { encoding: "utf8" }).stdout;
const [dash = "", bash = "", busybox = ""] = ["dash", "bash", "busybox"].map((name) => {
  const path = answer("which", name).trim();
  if (path === "") throw new Error(`these tests need ${name}: apt-get install ${name}`);
  return path;
});
const applets = answer(busybox, "--list").trim().split("\n");

/** The shells a host may have as /bin/sh; busybox comes with its own stat, dd, mv and so on. */
export function localShells(options: Options = {}): { shells: LocalShell[]; close: () => void } {
  const bin = mkdtempSync(join(tmpdir(), "clm-shells-"));
  const path = process.env.PATH ?? "/usr/bin:/bin";
  // Called by its own name, bash takes a socket as stdin for a login by rshd and reads ~/.bashrc.
  symlinkSync(bash, join(bin, "sh"));
  const tools = join(bin, "busybox");
  mkdirSync(tools);
  for (const applet of applets) {
    // A host with systemd has the setpriv of util-linux; this one cannot change users.
    if (applet !== "setpriv") symlinkSync(busybox, join(tools, applet));
  }
  return {
    shells: [
      localShell("dash", dash, path, options),
      localShell("bash", join(bin, "sh"), path, options),
      localShell("busybox", join(tools, "sh"), tools, options),
    ],
    close: () => rmSync(bin, { recursive: true }),
  };
}

/** An empty directory for one test, and its end. */
export function workshop(): { root: string; close: () => void } {
  const root = mkdtempSync(join(tmpdir(), "clm-operations-"));
  // Others may pass, as through /home.
  chmodSync(root, 0o755);
  mkdirSync(join(root, "here"));
  return { root: join(root, "here"), close: () => rmSync(root, { recursive: true }) };
}
