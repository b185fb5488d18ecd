import { spawn } from "node:child_process";
import { mkdir } from "node:fs/promises";
import { Fault } from "../errors.js";
import { interrupted, searchPath, stopIfAborted } from "./command.js";

// A kernel lock on the directory itself, held by a child that ends when its stdin closes: it ends with clm, even on a
// kill, and leaves no file. `down` may remove the directory while another waits for the lock: the inode numbers tell.
const holder = `
exec 9<"$1" || exit 1
flock 9
[ "$(stat -Lc %d:%i /proc/self/fd/9)" = "$(stat -Lc %d:%i "$1")" ] || exit 9
echo held
exec cat >/dev/null`;

/** Locked for what all labs of the machine share: subnets and the packet filter. */
export const machineDirectory = "/run/clm-lab";

export interface LockOptions {
  signal?: AbortSignal | undefined;
  /** Called once when the lock is held by another process. */
  waiting?: () => void;
}

/** Does the work while holding a lock on the directory, which is created if missing. */
export async function withLock<T>(directory: string, options: LockOptions, work: () => Promise<T>): Promise<T> {
  const release = await acquire(directory, options);
  try {
    return await work();
  } finally {
    await release();
  }
}

async function acquire(directory: string, { signal, waiting }: LockOptions): Promise<() => Promise<void>> {
  for (;;) {
    stopIfAborted(signal);
    await mkdir(directory, { recursive: true });
    const child = spawn("sh", ["-c", holder, "lock", directory], {
      stdio: ["pipe", "pipe", "ignore"],
      env: { PATH: searchPath },
      // Its own process group: Ctrl-C would otherwise end the lock before the work.
      detached: true,
    });
    child.stdin.on("error", () => {});
    const ended = new Promise<number | null>((resolve, reject) => child.on("close", resolve).on("error", reject));
    const held = new Promise<true>((resolve) => child.stdout.once("data", () => resolve(true)));
    // The whole group: flock would survive the shell.
    const abort = () => {
      try {
        if (child.pid !== undefined) process.kill(-child.pid, "SIGKILL");
      } catch {}
    };
    signal?.addEventListener("abort", abort, { once: true });
    const timeout = setTimeout(() => waiting?.(), 500);
    const outcome = await Promise.race([held, ended]).finally(() => {
      clearTimeout(timeout);
      signal?.removeEventListener("abort", abort);
    });
    if (outcome === true) {
      return async () => {
        child.stdin.end();
        await ended;
      };
    }
    if (signal?.aborted) throw interrupted();
    if (outcome === 9) continue;
    throw new Fault("local-setup", `cannot lock ${directory}`, { why: "flock (util-linux) is needed" });
  }
}
