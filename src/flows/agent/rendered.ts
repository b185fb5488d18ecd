import { randomBytes } from "node:crypto";
import { setImmediate as turn } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";
import { loadType } from "../../agents/manifest/registry.js";
import { type DesiredState, desiredState, withPort } from "../../agents/plan/desired-state.js";
import type { Change } from "../../agents/plan/differences.js";
import type { Plan as HostPlan, ServiceState } from "../../agents/plan/plan.js";
import { type ResolvedAgent, resolvedAgent } from "../../agents/plan/resolved-agent.js";
import { fixes, judge, span } from "../../agents/probe/proof/judge.js";
import { isProven, type Proof } from "../../agents/probe/proof/proof.js";
import { Fault } from "../../errors.js";
import type { Operation } from "../../remote/operations/operation.js";
import { sharedShell } from "../../remote/shared-shell.js";
import type { AgentRecord } from "../../state/agent.js";
import { type Agent, hostAndName, secretOwner } from "../../state/agents.js";
import type { Executor } from "../gate.js";
import type { Session } from "../session.js";
import { answersFor, type NewSecrets } from "./answers.js";
import { apiKeyOf, promoteKey } from "./api-key.js";
import { mustHaveOwnPorts, mustNotDrop, newPorts, portFor } from "./configure/objections.js";
import { changeRecord, providersBehind, recordProofs, withAnswers, withState } from "./configure/record.js";
import { observe } from "./observe.js";
import { prove } from "./prove.js";

export interface ApplyOptions {
  verb: string;
  /** Without it, the agent as recorded. */
  desired?: DesiredState | undefined;
  /** Another port: a number that must be free on the host, or the first free one. */
  port?: number | "auto" | undefined;
  /** Kept in secrets.json before the host gets them. */
  secrets?: NewSecrets | undefined;
  /** Secrets that nothing needs any more; forgotten when the host has lost them. */
  forget?: string[] | undefined;
  /** Variables in `.env` that clm did not put there may go. */
  allowRemoval?: boolean | undefined;
  /** Prove it afterwards; on without saying. */
  validate?: boolean | undefined;
  skipChat?: boolean | undefined;
  /** The model is asked only when what it is asked with became another. */
  sparing?: boolean | undefined;
  /** Something else that it runs with is another: it is restarted and asked, if it is up, whatever was proven. */
  restart?: boolean | undefined;
  /** Also prove that its channels and MCP servers are connected. */
  connections?: boolean | undefined;
  /** `up` by default. */
  serviceState?: ServiceState | "as-recorded" | undefined;
}

export interface Applied {
  record: AgentRecord;
  changes: Change[];
  /** None when it was not validated. */
  proofs: Proof[];
}

/**
 * Brings an agent's files and unit to what its record, providers and secrets say, restarts it when that changed
 * something, and proves that it answers. An agent that is so already costs one exec: a look, and a wish in the same shell.
 */
export async function applyRendering(session: Session, agent: Agent, options: ApplyOptions): Promise<Applied> {
  const { gate } = session;
  const { manifest } = await loadType(session.configDir, agent.record.type);
  const key = apiKeyOf(session, { instance: secretOwner(agent), name: manifest.api.secret });
  const providers = providersBehind(session, options.desired?.record ?? agent.record);
  // Everything that can be refused is refused here, before anything changes.
  const drafted = options.desired ?? (await asRecorded(session, agent));
  const other = drafted.digest !== agent.record.rendered?.digest;

  const root = await sharedShell((await session.pool.connect(agent.host)).as("root"));
  // The host takes its time for digests, and who changes nothing needs none.
  const named = gate.dryRun || other || options.port !== undefined || options.serviceState === "as-recorded";
  const salt = named ? newSalt() : "";
  const sight = {
    connections: options.connections ?? false,
    rendered: { salt, as: drafted.resolved },
    ports: options.port !== undefined || newPorts(agent, manifest, drafted.record).length > 0,
  };
  const looking = observe(root, resolvedAgent(manifest, agent), key.key, sight, session.signal);
  // What reads YAML and fills in files takes long to load: that happens while the host looks.
  const loading = turn().then(() => import("../../agents/plan/plan.js"));
  const [seen, { planFor, recordedServiceState, changesIn }] = await Promise.all([looking, loading]);
  if (!seen.account) throw gone(agent, resolvedAgent(manifest, agent));

  const port = portFor(session, agent, { manifest, record: drafted.record, seen }, options.port);
  const desired = withPort(drafted, agent, port);
  const { record, digest } = desired;
  if (options.desired) mustHaveOwnPorts(session, agent, { manifest, record, seen });
  const serviceState =
    options.serviceState === "as-recorded" ? recordedServiceState(record) : (options.serviceState ?? "up");
  const planned = planFor(agent, desired, { seen, salt, serviceState });
  const onHost = options.restart ? { ...planned, wish: planned.wish.map(restarting(agent.record.unit)) } : planned;
  const plan: Plan = { ...onHost, agent, record, serviceState, options, digest, providers };

  if (!options.allowRemoval) mustNotDrop(agent, plan.rendering, seen, gate.dryRun ? session.ui : undefined);
  const action = {
    verb: options.verb,
    target: hostAndName(agent),
    summary: `configure ${agent.name} on ${agent.host.name}`,
  };
  if (gate.dryRun) {
    return { record, changes: changesIn(plan, await gate.converge(action, root, plan.wish)), proofs: [] };
  }
  const change = async (executor: Executor) => changesIn(plan, await executor.converge(root, plan.wish));
  const work = (executor: Executor) => apply(session, plan, () => change(executor));
  const applied = await gate.pass(action, work, ({ proofs }) => ({
    result: proofs.length === 0 || isProven(proofs) ? "ok" : "failed",
  }));
  if (!applied) throw new Fault("bug", "the gate let nothing through");
  if (key.pending && isProven(applied.proofs)) {
    await promoteKey(session, { instance: secretOwner(agent), name: manifest.api.secret });
  }
  return applied;
}

const restarting =
  (name: string) =>
  (each: Operation): Operation =>
    each.kind === "unit" && each.name === name && each.state === "started" ? { ...each, state: "restarted" } : each;

interface Plan extends HostPlan {
  agent: Agent;
  /** As it should be. */
  record: AgentRecord;
  serviceState: ServiceState;
  digest: string;
  /** As they were before they were rendered. */
  providers: string;
  options: ApplyOptions;
}

/** Digests made with it say nothing to who does not have it, and nobody gets it but the host. */
export const newSalt = (): string => randomBytes(8).toString("hex");

export const gone = ({ host, record }: Agent, resolved: ResolvedAgent): Fault =>
  new Fault("not-found", `there is no user ${record.user} on ${host.name} any more`, { next: fixes(resolved).install });

/** The desired state of an agent whose record nobody changes. */
export async function asRecorded(session: Session, agent: Agent, secrets?: NewSecrets): Promise<DesiredState> {
  const { manifest } = await loadType(session.configDir, agent.record.type);
  const answers = await answersFor(session, resolvedAgent(manifest, agent), agent.record, secrets);
  return desiredState(manifest, agent, agent.record, answers);
}

async function apply(session: Session, plan: Plan, change: () => Promise<Change[]>): Promise<Applied> {
  const { agent, rendering, digest, providers, options } = plan;
  const servers = plan.codex?.migrated.servers;
  const instance = secretOwner(agent);
  for (const [name, secret] of Object.entries(options.secrets ?? {})) {
    await session.secrets.set(instance, name, secret, `for ${agent.name}`);
  }
  const before = agent.record.rendered;
  const names = [...rendering.env.keys()];
  const stamp = session.now().toISOString();
  // Killed from here on, the host has some of the old and some of the new, and all of it is ours.
  const either = {
    env: union(before?.env, names),
    config: union(before?.config, rendering.paths),
    ...codexIn(before?.codex && servers ? union(before.codex, servers) : before?.codex),
    digest: before?.digest ?? "",
    at: before?.at ?? stamp,
  };
  const begun = await changeRecord(session, agent, (now) => {
    const wanted = withAnswers(now, plan.record);
    return before?.digest === digest ? wanted : { ...withState(wanted, "validate"), rendered: either };
  });

  const changes = await change();
  // What Codex has stays there when the agent runs its turns itself again.
  const rendered = { env: names, config: rendering.paths, ...codexIn(servers ?? before?.codex), digest, at: stamp };
  const validates = options.validate ?? isToAnswer(plan);
  // Of one that is down, what was proven holds for as long as it is told the same.
  const same = before?.digest === digest && (changes.length === 0 || plan.serviceState === "down");
  const recorded = same && isDeepStrictEqual(before?.codex, rendered.codex);
  const written = recorded
    ? begun
    : await changeRecord(session, { ...agent, record: begun }, (now) =>
        same ? { ...now, rendered } : withState({ ...now, rendered }, "validate"),
      );
  for (const name of options.forget ?? []) await session.secrets.unset(instance, name);
  tellOfCodex(session, plan, changes);

  const current = { ...agent, record: written };
  if (!validates) return { record: written, changes, proofs: [] };
  const proofs = await proofsOf(session, current, plan, changes);
  return { record: await recordProofs(session, current, { digest, providers }, proofs), changes, proofs };
}

/** Codex got other settings on the way. What it makes of them is for another command to see. */
function tellOfCodex({ ui }: Session, { agent, codex, options }: Plan, changes: Change[]): void {
  if (!codex || options.verb === "agent runtime" || !changes.some(({ what }) => what === `file ${codex.config.path}`))
    return;
  for (const note of codex.migrated.notes) ui.warn(`Codex: ${note}`);
  ui.note(`Codex got other settings; what it makes of them tells: clm agent runtime ${agent.ref}`);
}

/** One that runs, or should. */
const isToAnswer = ({ serviceState, seen }: Plan): boolean =>
  serviceState === "up" || (serviceState === "as-is" && seen.unit.ActiveState === "active");

/** What an agent is told became another; who may read it does not count. */
const isRendered = ({ paths }: ResolvedAgent, { what, differences }: Change): boolean =>
  [paths.env, paths.config].some((path) => what === `file ${path}`) &&
  differences.some((each) => /^([+~-] |content|missing)/.test(each));

const codexIn = (codex: string[] | undefined): { codex?: string[] } => (codex ? { codex } : {});

const union = (a: string[] = [], b: string[]): string[] => [...new Set([...a, ...b])];

async function proofsOf(
  session: Session,
  agent: Agent,
  { resolved, seen, digest, options }: Plan,
  changes: Change[],
): Promise<Proof[]> {
  const { proven, failed } = agent.record;
  const ago = span((session.now().getTime() - Date.parse(proven?.at ?? "")) / 1000);
  const changed = changes.length > 0;
  const told = options.sparing ? changes.some((each) => isRendered(resolved, each)) : changed;
  // An answer of before says nothing once the model has failed to answer.
  const known =
    proven?.digest === digest && proven.chat && !failed?.proofs.includes("chat") && !told && !options.restart;
  const noChat = options.skipChat
    ? "not asked (--skip-chat)"
    : known
      ? `proven ${ago} ago, unchanged since`
      : undefined;
  if (!changed && noChat !== undefined) {
    const proofs = judge(resolved, seen, { noChat });
    if (isProven(proofs)) return proofs;
  }
  const { connections = false } = options;
  return prove(session, agent, { chat: noChat === undefined, connections, ...(noChat !== undefined && { noChat }) });
}
