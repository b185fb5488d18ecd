import { readFileSync, readlinkSync } from "node:fs";
import { hostname } from "node:os";

/** A process, named so that it is not mistaken for a later one that was given the same pid. */
export interface ProcessId {
  pid: number;
  /** Where the pid means something: one boot of one machine and, in it, one pid namespace. */
  place: string;
  /** When the kernel started it, in clock ticks since boot; empty where there is no /proc. */
  started: string;
}

let me: ProcessId | undefined;

/** This process. */
export function thisProcess(): ProcessId {
  me ??= { pid: process.pid, place: thisPlace(), started: processStat(process.pid)?.started ?? "" };
  return me;
}

/** Whether the process still runs; undefined when that cannot be seen from here. */
export function isAlive({ pid, place, started }: ProcessId): boolean | undefined {
  if (place !== thisProcess().place) return undefined;
  try {
    process.kill(pid, 0);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ESRCH") return false;
    // EPERM: it lives, and belongs to somebody else.
  }
  // A killed process whose parent has not asked for its end yet still answers kill(pid, 0).
  const stat = processStat(pid);
  if (stat && (stat.state === "Z" || stat.state === "X")) return false;
  return !stat || !started || stat.started === started;
}

// Two containers on one machine share the boot id but not their pids; the namespace tells them apart.
function thisPlace(): string {
  try {
    const boot = readFileSync("/proc/sys/kernel/random/boot_id", "utf8").slice(0, 13);
    return `${boot}-${readlinkSync("/proc/self/ns/pid").replace(/\D/g, "")}`;
  } catch {
    return hostname()
      .toLowerCase()
      .replace(/[^a-z0-9.-]/g, "-");
  }
}

function processStat(pid: number): { state: string; started: string } | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    // The second field is the program's name in brackets and may hold spaces and brackets of its own.
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return { state: fields[0] ?? "", started: fields[19] ?? "" };
  } catch {
    return undefined;
  }
}
