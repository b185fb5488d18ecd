import { type Check, isWell } from "../../agents/check.js";
import { atMost } from "../../async/limit.js";
import { isFault } from "../../errors.js";
import { type Agent, agentsOf } from "../../state/agents.js";
import type { Host } from "../../state/hosts.js";
import { checkHost } from "../host/check.js";
import type { Session } from "../session.js";
import { withProgress } from "../with-progress.js";
import { examineAgents } from "./agents.js";
import { cleaned, type Finding, titleOfFinding } from "./finding.js";
import { checkMachine } from "./machine.js";
import { type DoctorOptions, type Repair, repairAgents, repairMachine } from "./repair.js";

/** The findings; after repairs those of the second run. */
export interface Diagnosis {
  findings: Finding[];
  repairs: Repair[];
  /** Checks that failed before the repairs and pass now: `lab-1/ada unit`. */
  fixed: Set<string>;
}

export async function doctorAgents(
  session: Session,
  agents: readonly Agent[],
  options: DoctorOptions,
): Promise<Diagnosis> {
  const examine = async () => (await examined(session, agents, options)).map((finding) => cleaned(session, finding));
  return diagnoseAndRepair(examine, (findings) => repairAgents(session, findings, options));
}

/** Checks this machine first, because everything depends on it, then every host and every agent. */
export async function doctorAll(session: Session, options: DoctorOptions): Promise<Diagnosis> {
  const machine = (): Finding => cleaned(session, { about: { machine: true }, checks: checkMachine(session) });
  const own = await diagnoseAndRepair(
    async () => [machine()],
    async ([found]) => (options.fix && found ? repairMachine(session, found) : []),
  );
  const fleet = fleetOf(session);
  const examine = async (): Promise<Finding[]> => {
    const [hosts, agents] = await Promise.all([
      checkedHosts(session, fleet.hosts, options),
      examined(session, fleet.agents, options),
    ]);
    return [...hosts, ...agents.map((agent) => besideHost(agent, hosts))].map((finding) => cleaned(session, finding));
  };
  const theirs = await diagnoseAndRepair(examine, (findings) => repairAgents(session, findings, options));
  return {
    findings: [machine(), ...theirs.findings],
    repairs: [...own.repairs, ...theirs.repairs],
    fixed: new Set([...own.fixed, ...theirs.fixed]),
  };
}

async function diagnoseAndRepair(
  examine: () => Promise<Finding[]>,
  repair: (findings: Finding[]) => Promise<Repair[]>,
): Promise<Diagnosis> {
  const first = await examine();
  const repairs = await repair(first);
  if (!repairs.some(({ result }) => result !== "would")) return { findings: first, repairs, fixed: new Set() };
  const findings = await examine();
  const bad = new Set(rowsOf(first, (check) => !isWell(check)));
  return { findings, repairs, fixed: new Set(rowsOf(findings, isWell).filter((row) => bad.has(row))) };
}

const rowsOf = (findings: Finding[], which: (check: Check) => boolean): string[] =>
  findings.flatMap((finding) => finding.checks.filter(which).map(({ id }) => `${titleOfFinding(finding)} ${id}`));

function fleetOf({ hosts }: Session): { hosts: Host[]; agents: Agent[] } {
  try {
    const fleet = hosts.read();
    return { hosts: fleet.hosts, agents: agentsOf(fleet) };
  } catch (error) {
    // The check config.state reports it.
    if (isFault(error)) return { hosts: [], agents: [] };
    throw error;
  }
}

async function examined(session: Session, agents: readonly Agent[], { parallel }: DoctorOptions): Promise<Finding[]> {
  if (agents.length === 0) return [];
  const title = agents.length === 1 ? `examine ${agents[0]?.ref}` : `examine ${agents.length} agents`;
  return withProgress(session.ui, title, () => examineAgents(session, agents, parallel));
}

function checkedHosts(session: Session, hosts: Host[], { parallel }: DoctorOptions): Promise<Finding[]> {
  return Promise.all(
    atMost(parallel, hosts, async (host) => ({ about: { host }, checks: await checkHost(session, host) })),
  );
}

/** Does not repeat the failures of a host for each of its agents. */
function besideHost(finding: Finding, hosts: Finding[]): Finding {
  const { about, checks } = finding;
  const host = "agent" in about ? about.agent.host.name : "";
  const own = hosts.find((each) => "host" in each.about && each.about.host.name === host);
  const isDown = own?.checks.some(({ id, result }) => id.startsWith("ssh.") && result === "fail");
  const short: Check = { id: "host", result: "fail", reason: `${host} does not answer`, fix: `clm host check ${host}` };
  return {
    about,
    checks: checks
      .filter(({ id }) => id !== "clock")
      .map((check) => (isDown && check.id === "host" && check.result === "fail" ? short : check)),
  };
}
