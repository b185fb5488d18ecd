import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync } from "node:fs";
import { createInterface } from "node:readline";
import { bundleScript } from "./bundle.js";

/** A child process, and the lines it prints. */
export interface Child {
  readonly pid: number;
  readonly process: ChildProcess;
  /** Its output so far. */
  readonly said: string[];
  /** Waits for a line with this beginning. */
  says(beginning: string): Promise<string>;
  /** Waits for its end; returns its exit code or signal. */
  ended: Promise<number | string>;
}

/** A bundled script that any user can start, repeatedly. Call `killAll` after each test, `remove` at the end. */
export async function bundleChild(entry: string) {
  const { script, directory, remove } = await bundleScript(entry);
  chmodSync(directory, 0o755);
  const running = new Set<Child>();
  return {
    start: (args: string[], options: { uid?: number; gid?: number } = {}): Child => {
      const child = spawn(process.execPath, [script, ...args], {
        stdio: ["ignore", "pipe", "inherit"],
        cwd: directory,
        ...options,
      });
      const listened = listenTo(child);
      running.add(listened);
      void listened.ended.then(() => running.delete(listened));
      return listened;
    },
    /** Ends processes that a failed test left running. */
    async killAll() {
      for (const each of running) each.process.kill("SIGKILL");
      await Promise.all([...running].map(({ ended }) => ended));
    },
    remove,
  };
}

function listenTo(child: ChildProcess): Child {
  const said: string[] = [];
  const waiting: (() => void)[] = [];
  const wake = () => {
    for (const check of waiting.splice(0)) check();
  };
  const { stdout, pid } = child;
  if (!stdout || !pid) throw new Error("the child could not be started");
  createInterface(stdout).on("line", (line) => {
    said.push(line);
    wake();
  });
  let over = false;
  const ended = once(child, "close").then(([code, signal]) => {
    over = true;
    wake();
    return (code ?? signal) as number | string;
  });
  const says = (beginning: string) =>
    new Promise<string>((resolve, reject) => {
      const check = () => {
        const line = said.find((each) => each.startsWith(beginning));
        if (line !== undefined) resolve(line);
        else if (over) reject(new Error(`the child ended without saying '${beginning}': ${said.join(" | ")}`));
        else waiting.push(check);
      };
      check();
    });
  return { pid, process: child, said, says, ended };
}
