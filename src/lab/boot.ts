import { spawn } from "node:child_process";
import { closeSync, openSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { connect } from "node:net";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { Fault } from "../errors.js";
import { lastLines } from "../text/last-lines.js";
import { endAll, hierarchies, members } from "./cgroup.js";
import { searchPath, stopIfAborted } from "./command.js";
import { ask } from "./enter.js";
import type { HostNames } from "./names.js";
import { rootOf } from "./root.js";

// Keeps running as the host's parent. nspawn exits with 133 when the host reboots and, without this machine's service
// manager, its parent has to start it again. The keeper has its own cgroup, because one that delegates controllers to the
// host may not contain a process.
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

/** Whether both its PID 1 and the nspawn around it run. */
export async function isRunning(host: HostNames): Promise<boolean> {
  const roles = (await members(host.cgroup)).map(({ role }) => role);
  return roles.includes("leader") && roles.includes("holder");
}

// CAP_NET_ADMIN: root of a real host may change its own network.
const fixedOptions = `--quiet --boot --register=no --keep-unit --settings=no --link-journal=no --console=read-only
--resolv-conf=off --timezone=off --capability=CAP_NET_ADMIN`.split(/\s+/);

/** Starts the host, which outlives this process. */
export async function start(host: HostNames): Promise<void> {
  await halt(host);
  const log = openSync(consoleOf(host), "w", 0o600);
  const nspawn = [
    // Not by nspawn's own option, which shows the host this machine's interfaces in /sys (seen at 252).
    "nsenter",
    `--net=/run/netns/${host.netns}`,
    "systemd-nspawn",
    `--directory=${rootOf(host)}`,
    `--machine=${host.cgroup}`,
    `--hostname=${host.name}`,
    ...fixedOptions,
  ];
  const child = spawn("sh", ["-c", keeper, "keeper", host.cgroup, (await hierarchies()).join(" "), ...nspawn], {
    cwd: "/",
    detached: true,
    stdio: ["ignore", log, log],
    env: {
      PATH: searchPath,
      TERM: "dumb",
      // As on any current Debian, even where this machine still mixes both versions.
      SYSTEMD_NSPAWN_UNIFIED_HIERARCHY: "1",
      // Its lock files outlive a kill; we hold a lock on the lab.
      SYSTEMD_NSPAWN_LOCK: "0",
    },
  });
  closeSync(log);
  child.unref();
  await new Promise<void>((resolve, reject) => child.on("spawn", resolve).on("error", reject));
}

export async function halt(host: HostNames): Promise<void> {
  await endAll(keeperOf(host.cgroup));
  await endAll(host.cgroup);
}

/** Waits until sshd answers and systemd has started everything. */
export async function untilUp(host: HostNames, address: string, timeoutMs: number, signal: AbortSignal): Promise<void> {
  const deadline = Date.now() + timeoutMs;
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

/** Whether an sshd sends its banner at the address. */
export async function answers(address: string, timeoutMs: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host: address, port: 22 });
    const end = (answer: boolean) => {
      socket.destroy();
      resolve(answer);
    };
    socket.setTimeout(timeoutMs, () => end(false));
    socket.once("data", (bytes) => end(bytes.toString("latin1").startsWith("SSH-")));
    socket.once("error", () => end(false)).once("close", () => end(false));
  });
}
