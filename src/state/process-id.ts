import { readFileSync, readlinkSync } from "node:fs";
import { hostname, userInfo } from "node:os";

/** Identifies a process even after its pid has been reused. */
export interface ProcessId {
  pid: number;
  /** The scope of the pid: one boot of one machine and one pid namespace. */
  place: string;
  /** Start time in clock ticks since boot; empty without /proc. */
  started: string;
}

let me: ProcessId | undefined;

export function thisProcess(): ProcessId {
  me ??= { pid: process.pid, place: thisPlace(), started: processStat(process.pid)?.started ?? "" };
  return me;
}

/** Whether the process still runs; undefined when it belongs to another machine or pid namespace. */
export function isAlive({ pid, place, started }: ProcessId): boolean | undefined {
  if (place !== thisProcess().place) return undefined;
  try {
    process.kill(pid, 0);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ESRCH") return false;
    // EPERM: it is alive and belongs to another user.
  }
  // A zombie still answers kill(pid, 0).
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
    // The second field is the program's name in brackets, which may itself contain spaces and brackets.
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return { state: fields[0] ?? "", started: fields[19] ?? "" };
  } catch {
    return undefined;
  }
}

/** The name of the user who runs clm, or the uid without one. */
export function userName(): string {
  try {
    return userInfo().username;
  } catch {
    return `${process.getuid?.() ?? "unknown"}`;
  }
}
