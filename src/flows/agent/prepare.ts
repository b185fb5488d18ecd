import { loadManifests } from "../../agents/manifest/registry.js";
import { desiredState } from "../../agents/plan/desired-state.js";
import { textsToRead } from "../../agents/plan/managed-file.js";
import type { Plan, ServiceState } from "../../agents/plan/plan.js";
import { type ResolvedAgent, resolvedAgent } from "../../agents/plan/resolved-agent.js";
import { fixes } from "../../agents/probe/proof/judge.js";
import type { Observation } from "../../agents/probe/proof/observation.js";
import { capability } from "../../agents/type.js";
import { Fault } from "../../errors.js";
import type { Shell } from "../../remote/process.js";
import { sharedShell } from "../../remote/shared-shell.js";
import { ownedNames } from "../../state/agent.js";
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
  /** Refuse to remove variables of `.env` that clm did not write. */
  keepForeign?: boolean;
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
  const probe = {
    connections: options.connections ?? false,
    planned: { salt, texts: textsToRead(drafted.files) },
    ports: options.port !== undefined || newPorts(agent, manifest, drafted.record).length > 0,
  };
  const probing = observe(root, before, drafted.answers.apiKey, probe, session.signal);
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
  if (options.keepForeign) mustNotDrop(session, agent, plan);
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

/** clm owns all of `.env`, but variables that it did not write are not removed without --allow-removal. */
export function mustNotDrop({ gate, ui }: Session, agent: Agent, { files, observation }: Plan): void {
  const env = files.find(({ file }) => file.content.merge === "variables");
  if (!env) return;
  const ours = new Set([...(env.owned ?? []), ...(ownedNames(agent.record)[env.file.id] ?? [])]);
  const foreign = [...observation.variables.keys()].filter((name) => !ours.has(name));
  if (foreign.length === 0) return;
  const what = `.env on ${agent.host.name} has variables that clm did not write: ${foreign.join(", ")}`;
  if (gate.dryRun) {
    ui.warn(`${what}; removing them needs --allow-removal`);
    return;
  }
  throw new Fault("in-use", what, {
    why: "configuring would remove them; nothing was changed",
    next: [
      ...foreign.slice(0, 3).map((name) => `clm agent secret set ${agent.ref} ${name}`),
      `clm agent configure ${agent.ref} --allow-removal`,
    ],
    data: { variables: foreign },
    flag: "--allow-removal",
  });
}
