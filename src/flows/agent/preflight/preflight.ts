import type { ResolvedAgent } from "../../../agents/plan/resolved-agent.js";
import { Fault, isFault } from "../../../errors.js";
import { type Facts, readFacts } from "../../../remote/facts.js";
import type { Shell } from "../../../remote/process.js";
import type { Host } from "../../../state/hosts.js";
import type { Check } from "../../host/check.js";
import type { Session } from "../../session.js";
import { type Expected, judge, judgeWithoutRoot, missingPackages } from "./preflight-checks.js";
import { type Seen, type Sight, see } from "./preflight-probe.js";

export interface Preflight {
  checks: Check[];
  root: Shell;
  facts: Facts;
  seen: Seen;
  expected: Expected;
  /** Debian packages that bring what is missing. */
  missing: string[];
}

export interface Traveller {
  host: Host;
  resolved: ResolvedAgent;
  expected: Expected;
  sight: Sight;
}

/**
 * Everything that must hold before the first change, looked at in two execs. A host that cannot be reached is a fault of
 * its own; whatever else is wrong is told together, and nothing has been changed.
 */
export async function preflight(session: Session, { host, expected, sight }: Traveller): Promise<Preflight> {
  const { now, signal, pool } = session;
  const connection = await pool.connect(host);
  const facts = await readFacts(connection, now, signal);
  // The record may be older than the host: root is reached the way the host says is right today.
  const root = connection.as("root", facts.sudo);
  const road: Check[] = [
    { id: "ssh.reach", result: "ok", reason: `${host.address} answers` },
    { id: "ssh.key", result: "ok", reason: "shows the key that is trusted" },
    { id: "ssh.login", result: "ok", reason: `${facts.user} is let in` },
  ];
  const seen = await see(root, sight, signal).catch((error) => {
    if (!isFault(error, "sudo-refused")) throw error;
    const [fix] = error.next;
    const reason = [error.message, ...error.why].join(": ");
    const sudo: Check = { id: "sudo", result: "fail", reason, ...(fix && { fix }) };
    throw refused(host, [...road, sudo, ...judgeWithoutRoot(expected, facts)]);
  });
  const how = facts.sudo === "root" ? "logs in as root" : `${facts.user} becomes root (${facts.sudo})`;
  const checks = [...road, { id: "sudo", result: "ok", reason: how } as const, ...judge(expected, facts, seen)];
  if (checks.some(({ result }) => result === "fail")) throw refused(host, checks);
  return { checks, root, facts, seen, expected, missing: missingPackages(expected.requires, seen) };
}

/** Carries the whole list, so that it can be shown. */
function refused(host: Host, checks: Check[]): Fault {
  const failed = checks.filter(({ result }) => result === "fail");
  return new Fault("check-failed", `${host.name} is not ready for this agent; nothing was changed`, {
    why: failed.map(({ id, reason }) => `${id}: ${reason}`),
    next: [...new Set(failed.flatMap(({ fix }) => fix ?? []))],
    data: { checks },
  });
}
