import { chmodSync } from "node:fs";
import { asFault, type Fault } from "../../errors.js";
import { quote } from "../../quote.js";
import { type Agent, hostAndName } from "../../state/agents.js";
import { startAgent } from "../agent/start.js";
import { syncAgent } from "../agent/sync.js";
import { forEachAgent } from "../fleet/each.js";
import type { Session } from "../session.js";
import type { Finding } from "./finding.js";
import { openFiles } from "./machine.js";

export interface DoctorOptions {
  fix: boolean;
  /** Hosts at once. */
  parallel: number;
}

export interface Repair {
  /** As `lab-1/ada`. */
  whom: string;
  does: string;
  result: "done" | "failed" | "would";
  fault?: Fault;
}

/** The repair of an agent that needs no decision: sync or start. */
export function repairFor(finding: Finding): "sync" | "start" | undefined {
  if (!("agent" in finding.about)) return undefined;
  const { record } = finding.about.agent;
  const check = (id: string) => finding.checks.find((each) => each.id === id);
  if (record.status !== "installed" || check("version")?.result === "fail") return undefined;
  // Another process on its port would keep it from starting.
  if (check("port")?.cause === "foreign-listener") return undefined;
  // It runs though clm stopped it: whether it should is a person's decision.
  if (record.down && check("unit")?.result === "warn") return undefined;
  if (check("drift")?.cause === "sync-fixes") return "sync";
  const unit = check("unit");
  // Not while systemd is about to start it again.
  return unit?.result === "fail" && unit.cause === "down" && !record.down && record.onboarding.state === "ready"
    ? "start"
    : undefined;
}

/** Repairs agents with the flows of the commands. A failure does not stop the others. */
export async function repairAgents(
  session: Session,
  findings: readonly Finding[],
  { fix, parallel }: DoctorOptions,
): Promise<Repair[]> {
  if (!fix) return [];
  const repairs = new Map<Agent, "sync" | "start">();
  for (const finding of findings) {
    const repair = repairFor(finding);
    if (repair && "agent" in finding.about) repairs.set(finding.about.agent, repair);
  }
  const about = (agent: Agent) => ({ whom: hostAndName(agent), does: `clm agent ${repairs.get(agent)} ${agent.ref}` });
  const agents = [...repairs.keys()];
  if (session.gate.dryRun) return agents.map((agent) => ({ ...about(agent), result: "would" }));
  const outcomes = await forEachAgent(session, agents, { parallel }, async (within, agent) => {
    if (repairs.get(agent) === "sync") await syncAgent(within, hostAndName(agent));
    else await startAgent(within, hostAndName(agent), { force: false });
  });
  return outcomes.map(({ agent, result, fault }) => ({
    ...about(agent),
    result: result === "ok" ? "done" : "failed",
    ...(fault && { fault }),
  }));
}

export async function repairMachine({ configDir, gate }: Session, { checks }: Finding): Promise<Repair[]> {
  const isOpen = checks.some(({ id, result }) => id === "config.dir" && result === "fail");
  const files = openFiles(configDir).map(({ path }) => ({ path, mode: 0o600 }));
  const all = [...(isOpen ? [{ path: configDir, mode: 0o700 }] : []), ...files];
  if (all.length === 0) return [];
  const whom = "this machine";
  const action = { verb: "doctor", target: whom, summary: `close ${all.map(({ path }) => path).join(", ")} to others` };
  const about = { whom, does: `chmod go= ${all.map(({ path }) => quote(path)).join(" ")}` };
  try {
    await gate.pass(action, async () => {
      for (const { path, mode } of all) chmodSync(path, mode);
    });
    return gate.dryRun ? [] : [{ ...about, result: "done" }];
  } catch (error) {
    return [{ ...about, result: "failed", fault: asFault(error) }];
  }
}
