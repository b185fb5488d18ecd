import { loadManifests } from "../../agents/manifest/registry.js";
import { type DesiredState, desiredState } from "../../agents/plan/desired-state.js";
import { readsOf } from "../../agents/plan/managed-file.js";
import type { Plan, ServiceState } from "../../agents/plan/plan.js";
import { type ResolvedAgent, resolvedAgent } from "../../agents/plan/resolved-agent.js";
import { fixes } from "../../agents/probe/proof/judge.js";
import type { Observation } from "../../agents/probe/proof/observation.js";
import { agentType } from "../../agents/type.js";
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
  /** `as-recorded`: as the record says. `as-running`: an agent that is down stays down. */
  serviceState?: ServiceState | "as-recorded" | "as-running" | undefined;
  /** Also observe its channels and MCP servers. */
  connections?: boolean | undefined;
}

/** An agent that was probed, with the plan that brings it to its desired state. */
export interface Prepared {
  agent: Agent;
  desired: Desired;
  root: Shell;
  plan: Plan;
  observation: Observation;
  /** It does not run, and is not to be started. */
  down: boolean;
}

/** Probes the host once and plans. Everything that can be refused is refused here, before anything changes. */
export async function prepare(
  session: Session,
  agent: Agent,
  drafted: Desired,
  options: PrepareOptions = {},
): Promise<Prepared> {
  const { manifest } = drafted.resolved;
  const before = resolvedAgent(manifest, agent);
  const changed = drafted.digest !== agent.record.rendered?.digest;
  const named = session.gate.dryRun || changed || options.port !== undefined || options.serviceState === "as-recorded";
  // The host takes time for digests, and an unchanged agent needs none.
  const salt = named ? newSalt() : "";
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
  // Code that reads YAML takes long to load: that happens while the host answers.
  const [observation, { planFor, recordedServiceState }] = await Promise.all([
    probing,
    import("../../agents/plan/plan.js"),
  ]);
  mustHaveAccount(before, observation);
  const types = await loadManifests(session.configDir);

  const port = portFor(
    session,
    agent,
    { manifest, types, record: drafted.record, observation: observation },
    options.port,
  );
  const desired = await withPort(drafted, agent, port);
  if (drafted.record !== agent.record)
    mustHaveOwnPorts(session, agent, { ...desired, manifest, types, observation: observation });
  const down = ["inactive", "failed"].includes(observation.unit.ActiveState ?? "");
  const asked = options.serviceState ?? "up";
  const serviceState =
    asked === "as-recorded"
      ? recordedServiceState(desired.record)
      : asked === "as-running"
        ? down
          ? "as-is"
          : "up"
        : asked;
  const plan = planFor(desired, observation, { salt, serviceState });
  return { agent, desired, root, plan, observation, down: down && serviceState !== "up" };
}

/** The same state with another API port, which is known only once the host was probed. */
async function withPort(desired: Desired, agent: Agent, port: number): Promise<Desired> {
  if (port === desired.record.port) return desired;
  const { manifest } = desired.resolved;
  const renderer = await (await agentType(manifest)).renderer();
  const moved: DesiredState = desiredState(renderer, manifest, agent, { ...desired.record, port }, desired.answers);
  return { ...desired, ...moved };
}

export function mustHaveAccount(agent: ResolvedAgent, { account }: Observation): void {
  if (account) return;
  throw new Fault("not-found", `there is no user ${agent.user} on ${agent.host} any more`, {
    next: fixes(agent).install,
  });
}
