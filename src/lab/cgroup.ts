import { existsSync } from "node:fs";
import { readdir, readFile, rmdir } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { Fault } from "../errors.js";
import { mounts } from "./mounts.js";

/**
 * Every host has its own cgroup. Without one, all containers started from the same place share one tree of units (seen
 * with systemd 252), and stopping ssh.service in one host affects the others. The cgroup also identifies the processes of
 * a host, whatever their names.
 */

/** Mounts for cgroups: the unified hierarchy, then systemd's own where the machine still has both. */
export async function hierarchies(): Promise<string[]> {
  const all = await mounts();
  const unified = all.find(({ type }) => type === "cgroup2");
  if (!unified)
    throw new Fault("local-setup", "a lab needs control groups version 2", { why: "none are mounted here" });
  const named = all.find(({ type, options }) => type === "cgroup" && options.includes("name=systemd"));
  return named ? [unified.path, named.path] : [unified.path];
}

export async function cgroupsNamed(prefix: string): Promise<string[]> {
  const found = await Promise.all((await hierarchies()).map((place) => readdir(place)));
  return [...new Set(found.flat().filter((name) => name.startsWith(prefix)))];
}

export interface Member {
  pid: number;
  /** leader: the host's PID 1, to enter or end it; holder: nspawn around it, on this machine; inside: all others. */
  role: "leader" | "holder" | "inside";
}

/** The processes in a cgroup and below it. */
export async function members(cgroup: string): Promise<Member[]> {
  const [unified = ""] = await hierarchies();
  const pids = await pidsBelow(join(unified, cgroup));
  const found = await Promise.all(
    pids.map(async (pid) => {
      const status = await readFile(`/proc/${pid}/status`, "utf8").catch(() => "");
      const inside = /^NSpid:\s+(.*)$/m.exec(status)?.[1]?.split(/\s+/);
      if (!inside || /^State:\s+Z/m.test(status)) return [];
      const role = inside.length === 1 ? "holder" : inside.length === 2 && inside[1] === "1" ? "leader" : "inside";
      return [{ pid, role }] satisfies Member[];
    }),
  );
  return found.flat();
}

async function pidsBelow(directory: string): Promise<number[]> {
  const entries = await readdir(directory, { withFileTypes: true }).catch(() => []);
  const own = await readFile(join(directory, "cgroup.procs"), "utf8").catch(() => "");
  const below = await Promise.all(
    entries.filter((entry) => entry.isDirectory()).map((entry) => pidsBelow(join(directory, entry.name))),
  );
  return [...own.split("\n").filter(Boolean).map(Number), ...below.flat()];
}

/** Kills every process in a cgroup; PID 1 of the host ends all others. */
export async function endAll(cgroup: string): Promise<void> {
  for (let round = 0; round < 200; round++) {
    const alive = await members(cgroup);
    if (alive.length === 0) return;
    // nspawn notices the end of its host and cleans up; killed first, it would leave the host running.
    const leader = alive.filter(({ role }) => role === "leader");
    for (const { pid } of leader.length > 0 && round < 20 ? leader : alive) kill(pid);
    await sleep(round < 20 ? 10 : 50);
  }
  throw new Fault("local-setup", `processes of ${cgroup} cannot be killed`, {
    why: (await members(cgroup)).map(({ pid }) => `pid ${pid}`),
  });
}

function kill(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}

export async function removeCgroup(cgroup: string): Promise<void> {
  for (const place of await hierarchies()) await removeBelow(join(place, cgroup));
}

async function removeBelow(directory: string): Promise<void> {
  if (!existsSync(directory)) return;
  const entries = await readdir(directory, { withFileTypes: true });
  for (const entry of entries) if (entry.isDirectory()) await removeBelow(join(directory, entry.name));
  // The kernel frees a cgroup a moment after its last process ended.
  for (let round = 0; ; round++) {
    try {
      return await rmdir(directory);
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code === "ENOENT") return;
      if (code !== "EBUSY" || round === 100) throw error;
      await sleep(20);
    }
  }
}
