import { type Check, fail, ok, skipped, type Verdict, warn } from "../../agents/check.js";
import type { Manifest } from "../../agents/manifest/manifest.js";
import { type Fault, isFault } from "../../errors.js";
import type { Connection } from "../../remote/connection.js";
import { type Facts, readFacts } from "../../remote/facts.js";
import { run } from "../../remote/run.js";
import type { Host } from "../../state/hosts.js";
import type { Session } from "../session.js";

export async function checkHost(session: Session, host: Host): Promise<Check[]> {
  try {
    const connection = await session.pool.connect(host);
    const facts = await readFacts(connection, session.now, session.signal);
    const sudo: Check = { id: "sudo", ...(await checkSudo(connection, facts, session.signal)) };
    return [...reachedChecks(host, facts), sudo, ...judge(facts)];
  } catch (error) {
    session.signal.throwIfAborted();
    if (!isFault(error) || isFault(error, "interrupted")) throw error;
    return stoppedBy(error);
  }
}

export const reachedChecks = ({ address }: Host, { user }: Facts): Check[] => [
  { id: "ssh.reach", ...ok(`${address} answers`) },
  { id: "ssh.key", ...ok("its key is trusted") },
  { id: "ssh.login", ...ok(`${user} can log in`) },
];

const sshChecks = ["ssh.reach", "ssh.key", "ssh.login"] as const;

/** Checks up to the one that failed; the rest is skipped. */
function stoppedBy(fault: Fault): Check[] {
  const failed = fault.who === "trust" ? "ssh.key" : fault.fault === "unreachable" ? "ssh.reach" : "ssh.login";
  const at = sshChecks.indexOf(failed);
  const left = [...sshChecks.slice(at + 1), "sudo", ...Object.keys(factChecks)];
  return [
    ...sshChecks.slice(0, at).map((id) => ({ id, ...ok("passed") })),
    { id: failed, ...fail(reasonOf(fault), fault.next[0]) },
    ...left.map((id) => ({ id, ...skipped(`needs ${failed}`) })),
  ];
}

const reasonOf = (fault: Fault): string => [fault.message, ...fault.why].join(": ");

async function checkSudo(connection: Connection, facts: Facts, signal: AbortSignal): Promise<Verdict> {
  if (facts.sudo === "root") return ok("logs in as root");
  try {
    // Not as recorded: the host's sudo settings may have changed.
    const { stdout } = await run(connection.as("root", facts.sudo), "id -u", { timeout: 60_000, signal });
    if (stdout.trim() === "0") return ok(`${facts.user} becomes root (${facts.sudo})`);
    return fail(`sudo gave uid ${stdout.trim()}`);
  } catch (error) {
    if (!isFault(error, "sudo-refused", "remote-timeout")) throw error;
    return fail(reasonOf(error), `on the host: echo '${facts.user} ALL=(ALL) NOPASSWD: ALL' > /etc/sudoers.d/clm`);
  }
}

/** Requirements for a host; an agent type may have more than clm. */
interface HostRequirements extends Omit<Manifest["requires"], "programs" | "reach"> {
  /** Less than this is a failure, not a warning: it leaves half an installation on a full disk. */
  disk_min_mb: number;
}

const ownRequirements: HostRequirements = {
  systems: ["debian 12", "debian 13", "ubuntu 22.04", "ubuntu 24.04"],
  arch: ["x86_64", "aarch64"],
  systemd: 249,
  // An idle agent takes about 300 MB.
  memory_mb: 512,
  disk_mb: 4096,
  disk_min_mb: 200,
};

const factChecks: Record<string, (facts: Facts, requires: HostRequirements) => Verdict> = {
  "system.os": ({ os, os_version, os_name }, { systems }) =>
    systems.includes(`${os} ${os_version}`)
      ? ok(os_name)
      : warn(`${os_name || "an unknown system"} is not a tested system`, `use one of ${systems.join(", ")}`),
  "system.arch": ({ arch }, requires) =>
    requires.arch.includes(arch)
      ? ok(arch)
      : fail(`${arch} is not supported`, `use a machine of ${requires.arch.join(" or ")}`),
  "system.systemd": ({ systemd }, requires) => {
    if (systemd >= requires.systemd) return ok(`systemd ${systemd}`);
    const why = systemd ? `systemd ${systemd} is too old` : "there is no systemd";
    return fail(why, `systemd ${requires.systemd} or newer is needed`);
  },
  "system.state": ({ system_state }) =>
    system_state === "running"
      ? ok("running")
      : warn(`systemd says ${system_state || "nothing"}`, "systemctl --failed"),
  memory: ({ memory_mb, memory_free_mb }, requires) => {
    const free = `${memory_free_mb} MB free of ${memory_mb} MB`;
    if (memory_free_mb >= requires.memory_mb) return ok(free);
    return warn(free, `an agent needs about ${requires.memory_mb} MB`);
  },
  disk: ({ disk_free_mb }, { disk_mb, disk_min_mb }) => {
    const free = `${disk_free_mb} MB free for /home`;
    if (disk_free_mb >= disk_mb) return ok(free);
    return (disk_free_mb < disk_min_mb ? fail : warn)(free, `an agent needs about ${disk_mb} MB`);
  },
  clock: ({ clock_ahead }) => {
    const off = Math.abs(clock_ahead);
    const seen = off <= 2 ? "agrees with ours" : `${off} s ${clock_ahead > 0 ? "ahead of" : "behind"} ours`;
    if (off <= 30) return ok(seen);
    return (off <= 300 ? warn : fail)(seen, "timedatectl set-ntp true");
  },
};

export const judge = (facts: Facts, requires = ownRequirements): Check[] =>
  Object.entries(factChecks).map(([id, judge]) => ({ id, ...judge(facts, requires) }));
