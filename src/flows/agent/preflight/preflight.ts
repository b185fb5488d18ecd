import { type Check, fail, ok, type Verdict } from "../../../agents/check.js";
import { isFault } from "../../../errors.js";
import { type Facts, readFacts } from "../../../remote/facts.js";
import type { Shell } from "../../../remote/process.js";
import type { Host } from "../../../state/hosts.js";
import { ChecksFailed, mustPass } from "../../checks-failed.js";
import { reachedChecks } from "../../host/check.js";
import type { Session } from "../../session.js";
import { missingPackages, preflightChecks } from "./preflight-checks.js";
import { type Installation, type PreflightObservation, probeHost } from "./preflight-probe.js";

export interface ReadyHost {
  checks: Check[];
  root: Shell;
  facts: Facts;
  observation: PreflightObservation;
  installation: Installation;
  /** Debian packages with the missing programs. */
  missing: string[];
}

/** Uses two execs. An unreachable host is a fault of its own; all other problems are reported together. */
export async function preflight(session: Session, host: Host, installation: Installation): Promise<ReadyHost> {
  const { now, signal, pool } = session;
  const refusal = `${host.name} is not ready for this agent; nothing was changed`;
  const connection = await pool.connect(host);
  const facts = await readFacts(connection, now, signal);
  // The recorded sudo mode may be outdated.
  const root = connection.as("root", facts.sudo);
  const checksWith = (sudo: Verdict, observation: PreflightObservation | undefined): Check[] => [
    ...reachedChecks(host, facts),
    { id: "sudo", ...sudo },
    ...preflightChecks(installation, facts, observation),
  ];
  const observation = await probeHost(root, installation, signal).catch((error) => {
    if (!isFault(error, "sudo-refused")) throw error;
    const reason = [error.message, ...error.why].join(": ");
    throw new ChecksFailed(refusal, checksWith(fail(reason, error.next[0]), undefined));
  });
  const how = facts.sudo === "root" ? "logs in as root" : `${facts.user} becomes root (${facts.sudo})`;
  const checks = checksWith(ok(how), observation);
  mustPass(checks, refusal);
  const missing = missingPackages(installation.agent.manifest.requires, observation);
  return { checks, root, facts, observation, installation, missing };
}
