import { loadManifests } from "../../agents/manifest/registry.js";
import { desiredState } from "../../agents/plan/desired-state.js";
import { readsOf } from "../../agents/plan/managed-file.js";
import type { Plan, ServiceState } from "../../agents/plan/plan.js";
import { type ResolvedAgent, resolvedAgent } from "../../agents/plan/resolved-agent.js";
import { fixes } from "../../agents/probe/proof/judge.js";
import type { Observation } from "../../agents/probe/proof/observation.js";
import { capability } from "../../agents/type.js";
import { Fault } from "../../errors.js";
import type { Shell } from "../../remote/process.js";
import { sharedShell } from "../../remote/shared-shell.js";
import type { Agent } from "../../state/agents.js";
import type { Session } from "../session.js";
import type { Desired } from "./desire.js";
import { observe } from "./observe.js";
import { mustHaveOwnPorts, newPorts, portFor } from "./port-conflicts.js";
import { newSalt } from "./salt.js";

export interface PrepareOptions {
  /** Another port: a number that must be free on the host, or the first free one. */
  port?: number | "auto" | undefined;
  /** `as-running`: a stopped agent stays stopped. By default it should run. */
  serviceState?: "as-recorded" | "as-running";
  connections?: boolean;
}

export interface Prepared {
  agent: Agent;
  desired: Desired;
  root: Shell;
  plan: Plan;
  observation: Observation;
  /** It is stopped, and stays stopped. */
  down: boolean;
}

/** Probes the host once. Refuses everything that can be refused, before anything changes. */
export async function prepare(
  session: Session,
  agent: Agent,
  drafted: Desired,
  options: PrepareOptions = {},
): Promise<Prepared> {
  const { manifest } = drafted.resolved;
  const before = resolvedAgent(manifest, agent);
  const changed = drafted.digest !== agent.record.rendered?.digest;
  const needsDetails =
    session.gate.dryRun || changed || options.port !== undefined || options.serviceState === "as-recorded";
  // Digests take time on the host, and an unchanged agent needs none.
  const salt = needsDetails ? newSalt() : "";
  const root = await sharedShell((await session.pool.connect(agent.host)).as("root"));
  const probing = observe(
    root,
    before,
    drafted.answers.apiKey,
    {
      connections: options.connections ?? false,
      planned: { salt, reads: readsOf(drafted.files) },
      ports: options.port !== undefined || newPorts(agent, manifest, drafted.record).length > 0,
    },
    session.signal,
  );
  // The YAML parser is slow to load: load it while the host answers.
  const [observation, { planFor, recordedServiceState }] = await Promise.all([
    probing,
    import("../../agents/plan/plan.js"),
  ]);
  mustHaveAccount(before, observation);
  const types = await loadManifests(session.configDir);

  const port = portFor(session, agent, { manifest, types, record: drafted.record, observation }, options.port);
  const desired = await withPort(drafted, agent, port);
  if (drafted.record !== agent.record) mustHaveOwnPorts(session, agent, { ...desired, manifest, types, observation });
  const down = ["inactive", "failed"].includes(observation.unit.ActiveState ?? "");
  const stopped: ServiceState = options.serviceState === "as-running" && down ? "as-is" : "up";
  const serviceState = options.serviceState === "as-recorded" ? recordedServiceState(desired.record) : stopped;
  const plan = planFor(desired, observation, { salt, serviceState });
  return { agent, desired, root, plan, observation, down: down && serviceState !== "up" };
}

/** Another API port, which is known only after the probe. */
async function withPort(desired: Desired, agent: Agent, port: number): Promise<Desired> {
  if (port === desired.record.port) return desired;
  const { manifest } = desired.resolved;
  const renderer = await capability(manifest, "renderer");
  return { ...desired, ...desiredState(renderer, manifest, agent, { ...desired.record, port }, desired.answers) };
}

export function mustHaveAccount(agent: ResolvedAgent, { account }: Observation): void {
  if (account) return;
  throw new Fault("not-found", `the user ${agent.user} no longer exists on ${agent.host}`, {
    next: fixes(agent).install,
  });
}
