import type { Check } from "../../../agents/check.js";
import { agentsId, configId, migratedIn } from "../../../agents/hermes/codex/files.js";
import { isSameProfile, profileFor } from "../../../agents/hermes/codex/permissions.js";
import { pluginsIn } from "../../../agents/hermes/codex/preflight.js";
import { judgeCodex } from "../../../agents/hermes/codex/proof.js";
import { codexTypeOf, inPlaces, type Runtime, runsOnCodex } from "../../../agents/hermes/codex/runtime.js";
import type { CodexSight } from "../../../agents/hermes/codex/sight.js";
import { inRange } from "../../../agents/manifest/versions.js";
import type { Change } from "../../../agents/plan/change.js";
import type { Plan } from "../../../agents/plan/plan.js";
import { fileOperations } from "../../../agents/plan/plan-files.js";
import type { Proof } from "../../../agents/probe/proof/proof.js";
import { asFault, Fault } from "../../../errors.js";
import { quote } from "../../../quote.js";
import type { AgentRecord } from "../../../state/agent.js";
import { type Agent, agentId, hostAndName } from "../../../state/agents.js";
import type { Session } from "../../session.js";
import { withProgress } from "../../with-progress.js";
import { withLockedAgent } from "../agent-lock.js";
import { apply } from "../apply.js";
import { bring } from "../bring.js";
import { draftOf, noChanges } from "../configure/changes.js";
import { auxiliaryFrom } from "../configure/flags.js";
import { mustNotDrop } from "../configure/objections.js";
import { mustHold } from "../preconditions.js";
import { prepare } from "../prepare.js";
import { targetOf } from "../target.js";
import { exactly } from "./exactly.js";
import { installCodex, keepOnly, type Package } from "./install.js";
import { lookAtCodex } from "./look.js";
import { mustBeKnown } from "./package.js";
import { type Begun, orPutBack } from "./put-back.js";
import { codexBefore, planIn, runtimeOf, type Scene, sceneOf, secondsFor, type Wanted, wantedBy } from "./scene.js";

export interface EnableRequest {
  home?: "shared" | "own" | undefined;
  /** A word for a permission profile, or its name. */
  permissions?: string | undefined;
  /** Codex is told who the agent is and what it remembers; asked when nothing is said. */
  mirror?: boolean | undefined;
  /** `TASK=PROVIDER[/MODEL]` */
  auxiliary: string[];
  /** Codex is brought there, unless that very version is. */
  install?: Package | undefined;
  skipChat: boolean;
}

export interface Enabled {
  agent: Agent;
  /** What had to hold before, and what Codex says of itself afterwards. */
  checks: Check[];
  /** None when it was so already. */
  changes: Change[];
  /** None in a dry run, and of an agent that is down. */
  proofs: Proof[];
  /** What a person should know. */
  notes: string[];
}

const verb = "agent runtime";

/**
 * Enable: Codex runs an agent's turns. What must hold is checked first; then Codex gets its files, and has to accept them and
 * start everything in them before the agent hears of it; then the agent must answer by it. What fails is put back.
 */
export function enableCodex(session: Session, ref: string, request: EnableRequest): Promise<Enabled> {
  return withLockedAgent(session, ref, (agent) => enable(session, hostAndName(agent), request));
}

async function enable(session: Session, ref: string, request: EnableRequest): Promise<Enabled> {
  const type = codexTypeOf((await targetOf(session, ref)).resolved);
  if (request.install) mustBeKnown(type, request.install);
  const scene = await withProgress(session.ui, `look at ${ref}`, () => sceneOf(session, ref, request.home));
  mustNotBeStopped(scene.agent);
  const asked = await wantedBy(scene, draftFor(scene, request));
  const before = await look(scene, asked);
  const installs = request.install && before.sight.version !== (request.install.version ?? scene.type.default);
  if (!installs) {
    mustBeFit(scene, before.checks, "nothing was changed");
    const begun: Begun = { scene, installed: false };
    return orPutBack(begun, () => switchOn(begun, asked.record, { ...before, changes: [] }, request));
  }
  // Another Codex may answer the rest otherwise.
  const others = before.checks.filter(({ id }) => !ofCodex.has(id));
  mustBeFit(scene, others, "nothing was changed");
  // What cannot be kept is refused before anything is sent.
  mustCount(planIn(scene, asked), request);
  const { changes, launcher } = await installCodex(scene, request.install ?? {});
  const unseen = [...ofCodex].map((id): Check => ({ id, result: "skipped", reason: "seen once that Codex is there" }));
  const fit = { ...before, checks: [...others, ...unseen], changes };
  // Where there was none, it stays, whatever comes of it: the same command goes on from there.
  const begun: Begun = { scene, installed: true, ...(before.sight.program && { launcher: launcher ?? "" }) };
  return orPutBack(begun, async () => {
    // In a dry run there is nothing that could be looked at.
    if (session.gate.dryRun) return switchOn(begun, asked.record, fit, request);
    const after = await look(scene, asked);
    mustBeFit(scene, after.checks, begun.launcher === undefined ? "Codex is there now; nothing else was changed" : "");
    return switchOn(begun, asked.record, { ...after, changes }, request);
  });
}

const look = (scene: Scene, asked: Wanted) =>
  withProgress(scene.session.ui, "check that Codex can run here", () => codexBefore(scene, asked, { thread: false }));

/** Checks that another Codex may answer otherwise. */
const ofCodex = new Set(["codex", "sandbox", "settings", "plugins", "login.codex"]);

interface Fit {
  sight: CodexSight;
  checks: Check[];
  /** What was brought there for it. */
  changes: Change[];
}

/** All that had to hold holds. What is changed here is in `begun`, for whoever puts it back. */
async function switchOn(begun: Begun, asked: AgentRecord, fit: Fit, request: EnableRequest): Promise<Enabled> {
  const { session, agent } = begun.scene;
  const { gate, ui } = session;
  const draft = await settled(begun.scene, asked, fit, request);
  // Somebody may have been asked since, and a hundred megabytes sent: what was seen before may be old.
  const scene = await sceneOf(session, hostAndName(agent), request.home);
  const wanted = await wantedBy(scene, draft);
  const plan = planIn(scene, wanted);
  mustCount(plan, request);
  mustNotDrop(agent, plan, gate.dryRun ? ui : undefined);
  const told = { notes: notesOf(scene, wanted, plan) };
  if (gate.dryRun) {
    const changes = [...fit.changes, ...(await exactly(scene, plan))];
    return { ...told, agent, checks: fit.checks, changes, proofs: [] };
  }
  Object.assign(begun, { scene, plan });
  const given = await giveToCodex(scene, plan);
  const accepted = await withProgress(ui, "see what Codex makes of it", () => askCodex(scene, wanted, plan));
  mustBeAccepted(scene, accepted);
  begun.applied = true;
  const prepared = await prepare(session, agent, wanted, { serviceState: "as-recorded" });
  const how = { verb, skipChat: request.skipChat, restart: begun.installed, tellRuntime: false };
  const applied = await apply(session, prepared, how);
  mustHold(applied.proofs, `${agentId(agent)} does not answer on Codex as it should`);
  if (request.install) await keepOnly(scene, request.install).catch((error) => warnOf(session, error));
  return {
    ...{ ...told, agent: { ...agent, record: applied.record }, proofs: applied.proofs },
    ...{ checks: [...fit.checks, ...accepted], changes: [...fit.changes, ...given, ...applied.changes] },
  };
}

/** What was proven holds, whatever is left lying about. */
function warnOf({ signal, ui }: Session, error: unknown): void {
  signal.throwIfAborted();
  ui.warn(`versions of Codex from before are still there: ${asFault(error).message}`);
}

/** Who asks for a profile must get it, and the user's own counts before ours. */
function mustCount(plan: Plan, { permissions }: EnableRequest): void {
  const counts = migratedIn(plan)?.permissions;
  if (permissions === undefined || counts === undefined || isSameProfile(permissions, counts)) return;
  const { host, ref } = plan.agent;
  const path = codexFilesIn(plan).find(({ file }) => file.id === configId)?.file.path ?? "";
  throw new Fault("conflict", `${path} on ${host} has default_permissions of its own: ${counts}`, {
    why: `that counts, and --permissions ${permissions} would not`,
    next: `clm agent exec ${ref} -- grep -n default_permissions ${quote(path)}`,
  });
}

export const codexFilesIn = ({ files }: Plan) => files.filter(({ file }) => [configId, agentsId].includes(file.id));

/** What cannot be proven is not begun: and an agent that is told something else has to be proven before it is started. */
export function mustNotBeStopped({ name, ref, record }: Agent): void {
  if (!record.down) return;
  throw new Fault("not-ready", `${name} is stopped, and nobody could see whether it answers; nothing was changed`, {
    next: `clm agent start ${ref}`,
  });
}

/** The record with what was asked for; what nobody said is as it was. */
function draftFor({ session, agent, resolved, type }: Scene, request: EnableRequest): AgentRecord {
  const { home, permissions, mirror } = request;
  const before = runtimeOf(resolved, type);
  const runtime: Runtime = {
    ...{ ...before, kind: "codex" },
    ...(home && { home: inPlaces(resolved, type.homes[home]) }),
    ...(permissions !== undefined && { permissions }),
    ...(mirror !== undefined && { mirror }),
  };
  const changes = { ...noChanges(), auxiliary: auxiliaryFrom(request.auxiliary) };
  return { ...draftOf(resolved, session.providers.read(), agent.record, changes).record, runtime };
}

function mustBeFit({ agent }: Scene, checks: Check[], what: string): void {
  const failed = checks.filter(({ result }) => result === "fail");
  if (failed.length === 0) return;
  throw new Fault("not-ready", `${agentId(agent)} cannot run on Codex yet${what && `; ${what}`}`, {
    why: failed.map(({ id, reason }) => `${id}: ${reason}`),
    next: [...new Set(failed.flatMap(({ fix }) => fix ?? []))],
    data: { checks },
  });
}

/** The record, with what only the host could tell, and what only a person can. */
async function settled(
  { session, type, resolved }: Scene,
  record: AgentRecord,
  { sight }: Fit,
  { mirror, install }: EnableRequest,
): Promise<AgentRecord> {
  const { ui, gate } = session;
  const { runtime } = record;
  if (!runtime) throw new Error("a record without a runtime is no draft of one");
  // In a dry run the one that would be brought is not there to tell what it calls its profiles.
  const wished = install ? (install.version ?? type.default) : undefined;
  const [version, profiles] =
    wished === undefined || wished === sight.version ? [sight.version ?? type.default, sight.profiles] : [wished, null];
  const asks = mirror === undefined && !resolved.runtime && ui.interactive && !gate.dryRun;
  return {
    ...record,
    runtime: {
      ...runtime,
      permissions: profileFor(runtime.permissions, version, profiles),
      plugins: pluginsIn(sight),
      ...(asks && { mirror: await ui.confirm({ message: offer, flag: "--mirror or --no-mirror" }) }),
    },
  };
}

const offer =
  "Codex is told nothing of SOUL.md, MEMORY.md and USER.md. Write them to its AGENTS.md, and keep that current?";

/** What is not as somebody may expect. */
function notesOf({ type, resolved }: Scene, { record }: Wanted, plan: Plan): string[] {
  const tasks = resolved.manifest.auxiliary
    .filter(({ name, when }) => inRange(resolved.version, when) && !record.auxiliary?.[name])
    .map(({ name }) => name);
  const former = resolved.runtime && resolved.runtime.home !== record.runtime?.home ? resolved.runtime.home : undefined;
  return [
    ...(migratedIn(plan)?.notes ?? []),
    ...(former
      ? [`what Codex was given in ${former} stays there; auto --clean, before this, would have taken it out`]
      : []),
    ...type.lost.map((each) => `without: ${each}`),
    ...(record.runtime?.mirror ? [] : [`without: ${type.untold}; --mirror writes them to Codex' AGENTS.md`]),
    ...(tasks.length > 0
      ? [`tasks that use the subscription too: ${tasks.join(", ")}; --auxiliary TASK=PROVIDER gives one another model`]
      : []),
  ];
}

/**
 * Codex' files first, while the agent still runs without it. One that runs on Codex already has them in use, and is restarted
 * for them when its own turn comes.
 */
async function giveToCodex({ session, agent, resolved: now, root }: Scene, plan: Plan): Promise<Change[]> {
  const files = codexFilesIn(plan);
  const action = { verb, target: hostAndName(agent), summary: `write Codex' files on ${agent.host.name}` };
  const wish = fileOperations(plan.agent, files, { restart: runsOnCodex(now) });
  return bring(session, action, { root, wish, title: "give Codex its files" });
}

async function askCodex({ session, agent }: Scene, { resolved }: Wanted, plan: Plan): Promise<Check[]> {
  const { runtime } = resolved;
  const migrated = migratedIn(plan);
  if (!migrated || !runtime) throw new Error("a plan for Codex has no files of Codex'");
  const sight = await lookAtCodex(
    session,
    { agent, resolved },
    {
      ...{ server: true, still: false, thread: secondsFor(migrated), sandbox: false },
    },
  );
  return judgeCodex(sight, { resolved, runtime, migrated });
}

function mustBeAccepted({ agent }: Scene, checks: Check[]): void {
  const failed = checks.filter(({ result }) => result === "fail");
  if (failed.length === 0) return;
  throw new Fault("check-failed", `Codex does not accept what ${agentId(agent)} would give it`, {
    why: failed.map(({ id, reason }) => `${id}: ${reason}`),
    next: `clm agent runtime codex ${agent.ref} --dry-run`,
    data: { checks: failed },
  });
}
