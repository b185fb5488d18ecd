import { type Fault, isFault } from "../../errors.js";
import type { Connection } from "../../remote/connection.js";
import { type Facts, readFacts } from "../../remote/facts.js";
import { run } from "../../remote/run.js";
import type { Host } from "../../state/hosts.js";
import type { Session } from "../session.js";

/** One thing that was looked at, with an id that never changes. */
export interface Check {
  id: string;
  result: "ok" | "warn" | "fail" | "skipped";
  reason: string;
  /** What to do about it. */
  fix?: string;
}

/** Check: everything an agent will need of this host, seen on the host just now. */
export async function checkHost(session: Session, host: Host): Promise<Check[]> {
  try {
    const connection = await session.pool.connect(host);
    const facts = await readFacts(connection, session.now, session.signal);
    return [
      { id: "ssh.reach", result: "ok", reason: `${host.address} answers` },
      { id: "ssh.key", result: "ok", reason: "shows the key that is trusted" },
      { id: "ssh.login", result: "ok", reason: `${facts.user} is let in` },
      await checkSudo(connection, facts, session.signal),
      ...judge(facts),
    ];
  } catch (error) {
    session.signal.throwIfAborted();
    if (!isFault(error) || isFault(error, "interrupted")) throw error;
    return stoppedBy(error);
  }
}

const sshChecks = ["ssh.reach", "ssh.key", "ssh.login"] as const;

/** The checks of the road up to where it ended; what lies behind was not seen and is not judged. */
function stoppedBy(fault: Fault): Check[] {
  const failed = fault.who === "trust" ? "ssh.key" : fault.fault === "unreachable" ? "ssh.reach" : "ssh.login";
  const at = sshChecks.indexOf(failed);
  return [
    ...sshChecks.slice(0, at).map((id): Check => ({ id, result: "ok", reason: "passed" })),
    { id: failed, result: "fail", reason: reasonOf(fault), ...(fault.next[0] && { fix: fault.next[0] }) },
    ...[...sshChecks.slice(at + 1), "sudo", ...factChecks.map(({ id }) => id)].map(
      (id): Check => ({ id, result: "skipped", reason: `needs ${failed}` }),
    ),
  ];
}

const reasonOf = (fault: Fault): string => [fault.message, ...fault.why].join(": ");

async function checkSudo(connection: Connection, facts: Facts, signal: AbortSignal): Promise<Check> {
  const id = "sudo";
  if (facts.sudo === "root") return { id, result: "ok", reason: "logs in as root" };
  try {
    // The record may be older than the host: ask the way the host says is right today.
    const { stdout } = await run(connection.as("root", facts.sudo), "id -u", { timeout: 60_000, signal });
    if (stdout.trim() === "0") return { id, result: "ok", reason: `${facts.user} becomes root (${facts.sudo})` };
    return { id, result: "fail", reason: `sudo gave uid ${stdout.trim()}` };
  } catch (error) {
    if (!isFault(error, "sudo-refused", "remote-timeout")) throw error;
    const fix = `on the host: echo '${facts.user} ALL=(ALL) NOPASSWD: ALL' > /etc/sudoers.d/clm`;
    return { id, result: "fail", reason: reasonOf(error), fix };
  }
}

type FactCheck = { id: string; judge: (facts: Facts) => Omit<Check, "id"> };

const ok = (reason: string) => ({ result: "ok" as const, reason });
const warn = (reason: string, fix: string) => ({ result: "warn" as const, reason, fix });
const fail = (reason: string, fix: string) => ({ result: "fail" as const, reason, fix });

const supported = ["debian 12", "debian 13", "ubuntu 22.04", "ubuntu 24.04"];

const factChecks: FactCheck[] = [
  {
    id: "system.os",
    judge: ({ os, os_version, os_name }) =>
      supported.includes(`${os} ${os_version}`)
        ? ok(os_name)
        : warn(
            `${os_name || "an unknown system"} is not one clm is tested on`,
            "use Debian 12/13 or Ubuntu 22.04/24.04",
          ),
  },
  {
    id: "system.arch",
    judge: ({ arch }) =>
      ["x86_64", "aarch64"].includes(arch)
        ? ok(arch)
        : fail(`${arch} is not supported`, "use an x86_64 or aarch64 machine"),
  },
  {
    id: "system.systemd",
    judge: ({ systemd }) =>
      systemd >= 249
        ? ok(`systemd ${systemd}`)
        : fail(systemd ? `systemd ${systemd} is too old` : "systemd is not there", "systemd 249 or newer is needed"),
  },
  {
    id: "system.state",
    judge: ({ system_state }) =>
      system_state === "running"
        ? ok("running")
        : warn(`systemd says ${system_state || "nothing"}`, "systemctl --failed"),
  },
  {
    id: "memory",
    judge: ({ memory_mb, memory_free_mb }) => {
      const seen = `${memory_free_mb} MB free of ${memory_mb} MB`;
      // An idle Hermes takes about 300 MB.
      return memory_free_mb >= 512 ? ok(seen) : warn(seen, "an agent wants about 512 MB");
    },
  },
  {
    id: "disk",
    judge: ({ disk_free_mb }) => {
      const seen = `${disk_free_mb} MB free for /home`;
      if (disk_free_mb < 200) return fail(seen, "df -h /home");
      return disk_free_mb >= 4096 ? ok(seen) : warn(seen, "an agent wants about 4 GB");
    },
  },
  {
    id: "clock",
    judge: ({ clock_ahead }) => {
      const off = Math.abs(clock_ahead);
      const seen = off <= 2 ? "agrees with ours" : `${off} s ${clock_ahead > 0 ? "ahead of" : "behind"} ours`;
      if (off <= 30) return ok(seen);
      return (off <= 300 ? warn : fail)(seen, "timedatectl set-ntp true");
    },
  },
];

/** What the facts say, as checks. */
export function judge(facts: Facts): Check[] {
  return factChecks.map(({ id, judge }) => ({ id, ...judge(facts) }));
}
