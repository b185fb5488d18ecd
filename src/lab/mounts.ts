import { readFile } from "node:fs/promises";
import { attempt, run } from "./command.js";

export interface Mount {
  path: string;
  type: string;
  /** Of the filesystem, e.g. `rw,name=systemd`. */
  options: string[];
}

export async function mounts(): Promise<Mount[]> {
  return parseMounts(await readFile("/proc/self/mountinfo", "utf8"));
}

/** `/proc/self/mountinfo`, where a space in a path is written `\040`. */
export function parseMounts(mountinfo: string): Mount[] {
  return mountinfo
    .split("\n")
    .filter(Boolean)
    .map((line) => {
      const [left = "", right = ""] = line.split(" - ");
      const path = (left.split(" ")[4] ?? "").replace(/\\([0-7]{3})/g, (_, code: string) =>
        String.fromCharCode(Number.parseInt(code, 8)),
      );
      const [type = "", , options = ""] = right.split(" ");
      return { path, type, options: options.split(",") };
    });
}

export async function isMounted(path: string): Promise<boolean> {
  return (await mounts()).some((mount) => mount.path === path);
}

/** Unmounts everything at or below a directory, last first. */
export async function unmountAt(directory: string): Promise<void> {
  const inside = (await mounts()).filter(({ path }) => path === directory || path.startsWith(`${directory}/`));
  for (const { path } of inside.reverse()) {
    const { code } = await attempt("umount", [path]);
    // A process that is just ending may still use it; detached, it goes with that.
    if (code !== 0 && (await isMounted(path))) await run("umount", ["--lazy", path]);
  }
}
