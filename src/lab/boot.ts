import { spawn } from "node:child_process";
import { closeSync, openSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { connect } from "node:net";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { Fault } from "../errors.js";
import { endAll, hierarchies, members } from "./cgroup.js";
import { lastLines, searchPath, stopIfAborted } from "./command.js";
import { ask } from "./enter.js";
import type { HostNames } from "./names.js";
import { rootOf } from "./root.js";

// Stays behind as the host's keeper. nspawn ends with 133 when the host reboots and, told to keep out of the machine's
// own service manager, leaves it to its parent to start it again. The keeper has a cgroup of its own, because a cgroup
// that hands controllers on to the host may hold no process itself.
const keeper = `
name=$1 places=$2
shift 2
join() {
  for place in $places; do
    mkdir -p "$place/$1" && echo 0 > "$place/$1/cgroup.procs" || exit 1
  done
}
join "$name.keeper"
while :; do
  for place in $places; do
    find "$place/$name" -depth -type d -exec rmdir {} ';' 2>/dev/null
  done
  ( join "$name" && exec "$@" )
  [ $? -eq 133 ] || exit 0
done`;

const keeperOf = (cgroup: string): string => `${cgroup}.keeper`;

export const isKeeper = (cgroup: string): boolean => cgroup.endsWith(".keeper");

const consoleOf = (host: HostNames): string => join(host.directory, "console.log");

/** It runs when both its PID 1 and the nspawn that holds it do. */
export async function isRunning(host: HostNames): Promise<boolean> {
  const roles = (await members(host.cgroup)).map(({ role }) => role);
  return roles.includes("leader") && roles.includes("holder");
}

/** Starts the host; it outlives us. */
export async function start(host: HostNames): Promise<void> {
  await halt(host);
  const log = openSync(consoleOf(host), "w", 0o600);
  const child = spawn(
    "sh",
    [
      ...["-c", keeper, "keeper", host.cgroup, (await hierarchies()).join(" ")],
      // Entered here and not by nspawn, whose own option shows the host this machine's interfaces in /sys (seen at 252).
      ...["nsenter", `--net=/run/netns/${host.netns}`, "systemd-nspawn"],
      ...["--quiet", "--boot", `--directory=${rootOf(host)}`, `--machine=${host.cgroup}`, `--hostname=${host.name}`],
      ...["--register=no", "--keep-unit", "--settings=no", "--link-journal=no", "--console=read-only"],
      ...["--resolv-conf=off", "--timezone=off"],
      // Root of a real host may change its own network; this one is its own.
      "--capability=CAP_NET_ADMIN",
    ],
    {
      cwd: "/",
      detached: true,
      stdio: ["ignore", log, log],
      env: {
        PATH: searchPath,
        TERM: "dumb",
        // As on any current Debian, also where this machine still mixes both versions.
        SYSTEMD_NSPAWN_UNIFIED_HIERARCHY: "1",
        // Its lock files outlive a kill; we hold a lock on the lab.
        SYSTEMD_NSPAWN_LOCK: "0",
      },
    },
  );
  closeSync(log);
  child.unref();
  await new Promise<void>((resolve, reject) => child.on("spawn", resolve).on("error", reject));
}

/** Pulls the plug. */
export async function halt(host: HostNames): Promise<void> {
  await endAll(keeperOf(host.cgroup));
  await endAll(host.cgroup);
}

/** Waits until the host's sshd answers and its systemd has started everything. */
export async function untilUp(
  host: HostNames,
  address: string,
  patienceMs: number,
  signal: AbortSignal,
): Promise<void> {
  const deadline = Date.now() + patienceMs;
  const left = () => Math.max(1, deadline - Date.now());
  const failed = async (why: string) => {
    const console = await readFile(consoleOf(host), "utf8").catch(() => "");
    return new Fault("unreachable", `lab host ${host.name} did not come up`, {
      why: [why, ...lastLines(console, 8)],
      next: ["clm lab status", `clm lab down --name ${host.name.replace(/-\d+$/, "")}`],
    });
  };

  for (let seen = false; !(await answers(address, 1000)); ) {
    stopIfAborted(signal);
    const kept = await members(keeperOf(host.cgroup));
    if (seen && kept.length === 0) throw await failed("it stopped by itself");
    seen ||= kept.length > 0;
    if (left() === 1) throw await failed(`its sshd at ${address} did not answer in time`);
    await sleep(50);
  }
  stopIfAborted(signal);
  const { stdout, stderr } = await ask(host, ["systemctl", "is-system-running", "--wait"], { timeoutMs: left() });
  const state = stdout.trim();
  if (state !== "running" && state !== "degraded") {
    throw await failed(`systemd says '${state || lastLines(stderr, 1)[0] || "nothing in time"}'`);
  }
}

/** Whether an sshd shows its banner there. */
export async function answers(address: string, patienceMs: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host: address, port: 22 });
    const end = (answer: boolean) => {
      socket.destroy();
      resolve(answer);
    };
    socket.setTimeout(patienceMs, () => end(false));
    socket.once("data", (bytes) => end(bytes.toString("latin1").startsWith("SSH-")));
    socket.once("error", () => end(false)).once("close", () => end(false));
  });
}
