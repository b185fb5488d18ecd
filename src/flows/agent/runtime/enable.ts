import { isDeepStrictEqual } from "node:util";
import type { RuntimeReport } from "../../../agents/agent-runtime.js";
import { type Check, skipped } from "../../../agents/check.js";
import { inRange } from "../../../agents/manifest/versions.js";
import { changesOf } from "../../../agents/plan/change.js";
import { type Plan, recordedServiceState } from "../../../agents/plan/plan.js";
import { fileOperations } from "../../../agents/plan/plan-files.js";
import { activeRuntime, runtimeTypeOf } from "../../../agents/plan/runtime.js";
import { isProven } from "../../../agents/probe/proof/proof.js";
import { asFault, Fault } from "../../../errors.js";
import { type Operation, unit } from "../../../remote/operations/operation.js";
import type { AgentRecord } from "../../../state/agent.js";
import { agentId, findAgent, hostAndName } from "../../../state/agents.js";
import { mustPass } from "../../checks-failed.js";
import { check, flow } from "../../flow.js";
import type { Executor } from "../../gate.js";
import type { Session } from "../../session.js";
import { withLockedAgent } from "../agent-lock.js";
import { changeRecord, withState } from "../agent-record.js";
import { apply } from "../apply.js";
import { draftOf, noChanges } from "../configure/changes.js";
import { auxiliaryFrom } from "../configure/flags.js";
import type { Desired } from "../desire.js";
import { mustHold } from "../preconditions.js";
import { mustNotDrop, prepare } from "../prepare.js";
import { prove as proveAgent } from "../prove.js";
import { targetOf } from "../target.js";
import { installation, installRuntime, keepOnly, switchTo } from "./install.js";
import { mustBePinned } from "./package.js";
import { probeRuntime } from "./probe.js";
import {
  desireFor,
  enableCommand,
  filesIn,
  mustNotBeStopped,
  planIn,
  preflight,
  preview,
  type RuntimeTarget,
  recordFor,
  runtimeTarget,
  type SwitchResult,
} from "./runtime-target.js";

export interface EnableOptions {
  name: string;
  home?: "shared" | "own" | undefined;
  /** A permission profile: its short name or full name. */
  permissions?: string | undefined;
  /** Copy the agent's memory to the runtime; asked when undefined. */
  mirror?: boolean | undefined;
  /** `TASK=PROVIDER[/MODEL]` */
  auxiliary: string[];
  /** The manifest's version by default. `file` is a local copy, which must have the pinned bytes too. */
  install?: { version?: string | undefined; file?: string | undefined } | undefined;
  skipChat: boolean;
}

export interface EnableResult extends SwitchResult {
  checks: Check[];
}

const verb = "agent runtime";

/** The program must accept its files and start everything in them before the agent restarts; then it must answer. */
export const enableRuntime = (session: Session, ref: string, options: EnableOptions): Promise<EnableResult> =>
  withLockedAgent(session, ref, async (found) => {
    const full = hostAndName(found);
    const type = runtimeTypeOf((await targetOf(session, full)).resolved, options.name);
    const { title } = type;
    const version = options.install && (options.install.version ?? type.default);
    if (version) mustBePinned(type, version);
    const before = await check(session, `read the state of ${ref}`, () => runtimeTarget(session, full, options));
    const { agent, runtime } = before;
    mustNotBeStopped(agent);
    const asked = await desireFor(before, draftFor(before, options));
    const fitting = () =>
      check(session, `check that ${title} can run here`, () => preflight(before, asked, "preflight"));
    const first = await fitting();
    const installs = version !== undefined && version !== first.report.version;
    // Another version may answer the other checks otherwise.
    const checks = installs ? first.checks.filter(({ id }) => !runtime.programChecks.has(id)) : first.checks;
    const unfit = `${agentId(agent)} cannot run on ${title} yet`;
    mustPass(checks, `${unfit}; nothing was changed`, { fault: "not-ready" });
    if (installs) runtime.mustGetPermissions(planIn(before, asked), options.permissions);
    const installing = installs ? await installation(before, version, options.install?.file) : undefined;

    if (session.gate.dryRun) {
      const later = [...runtime.programChecks].map((id) => ({ id, ...skipped(`checked once ${title} is installed`) }));
      const { plan, notes } = await switching(before, asked, first.report, options);
      const changes = [...(installing?.changes ?? []), ...(await preview(before, plan))];
      const all = installs ? [...checks, ...later] : checks;
      return { agent, title, checks: all, changes, proofs: [], notes };
    }

    const action = { verb, target: full, summary: `run ${agentId(agent)} on ${title}` };
    return flow(session, action, async ({ change, prove }) => {
      const hadProgram = first.report.program !== undefined;
      if (installing) {
        // Without an earlier program the new one stays: the same command resumes from there.
        const undo = async (executor: Executor, previous: string | undefined) => {
          // An installation that failed has not touched the launcher.
          if (previous === undefined) return undefined;
          await switchTo(before, previous);
          return restoreAgent(before, executor, true);
        };
        await change(
          `install ${title} ${version}`,
          (_, progress) => installRuntime(before, installing, progress),
          hadProgram ? { undo } : {},
        );
      }
      const fit = installing ? await fitting() : first;
      const installed = hadProgram ? "" : `; ${title} is installed now; nothing else was changed`;
      mustPass(fit.checks, unfit + installed, { fault: "not-ready" });

      const { target, desired, plan, notes } = await switching(before, asked, fit.report, options);
      const { root, resolved } = target;
      const restart = activeRuntime(resolved) !== undefined;
      const operations = fileOperations(plan.agent, filesIn(target, plan), { restart });
      const undo = async (executor: Executor) => {
        await executor.converge(root, await filesBefore(target, plan));
        return installing && hadProgram ? undefined : restoreAgent(target, executor, installs);
      };
      const given = await change(`write the files of ${title}`, { root, operations }, { undo });
      const accepted = await prove(`check that ${title} accepts them`, () => acceptance(target, desired, plan));
      const applied = await change(
        `switch ${agent.name} to ${title}`,
        async () => {
          const prepared = await prepare(session, agent, desired, { serviceState: "as-recorded" });
          const how = { verb, skipChat: options.skipChat, restart: installs, reportRuntime: false };
          const result = await apply(session, prepared, how);
          mustHold(result.proofs, `${agentId(agent)} does not answer on ${title} as it should`);
          return result;
        },
        { undo: async (executor) => void (await executor.converge(root, await agentBefore(target, plan))) },
      );
      if (!applied) throw new Error("only a dry run changes nothing");
      if (version)
        await keepOnly(target, version).catch((error) => {
          session.signal.throwIfAborted();
          session.ui.warn(`earlier versions of ${title} are still there: ${asFault(error).message}`);
        });
      return {
        agent: { ...agent, record: applied.record },
        title,
        checks: [...fit.checks, ...(accepted ?? [])],
        changes: [...(installing?.changes ?? []), ...changesOf(given), ...applied.changes],
        proofs: applied.proofs,
        notes,
      };
    });
  });

/** Options that are not given stay as they were. */
function draftFor(target: RuntimeTarget, options: EnableOptions): AgentRecord {
  const { session, agent, resolved, name } = target;
  const { permissions, mirror } = options;
  const changes = { ...noChanges(), auxiliary: auxiliaryFrom(options.auxiliary) };
  return {
    ...draftOf(resolved, session.providers.read(), agent.record, changes).record,
    runtime: {
      ...recordFor(target, name, options.home),
      ...(permissions !== undefined && { permissions }),
      ...(mirror !== undefined && { mirror }),
    },
  };
}

/** Observed again: a package may have been sent meanwhile. */
async function switching(before: RuntimeTarget, asked: Desired, report: RuntimeReport, options: EnableOptions) {
  const { session, agent, resolved, type, runtime } = before;
  const { ui, gate } = session;
  const { record } = asked;
  if (!record.runtime) throw new Error("a draft without a runtime");
  const version = (options.install && (options.install.version ?? type.default)) ?? report.version ?? type.default;
  const settled = runtime.settled(record.runtime, version, report);
  const asks = options.mirror === undefined && !resolved.runtime && ui.interactive && !gate.dryRun;
  const mirror = asks
    ? await ui.confirm({ message: runtime.mirrorQuestion, flag: "--mirror or --no-mirror" })
    : settled.mirror;
  const target = await runtimeTarget(session, hostAndName(agent), options);
  const desired = await desireFor(target, { ...record, runtime: { ...settled, mirror } });
  const plan = planIn(target, desired);
  runtime.mustGetPermissions(plan, options.permissions);
  mustNotDrop(session, agent, plan);
  return { target, desired, plan, notes: notesOf(target, desired, plan) };
}

function notesOf({ type, resolved, runtime }: RuntimeTarget, { record }: Desired, plan: Plan): string[] {
  const { title, loses, withheld } = type;
  const tasks = resolved.manifest.auxiliary
    .filter(({ name, when }) => inRange(resolved.version, when) && !record.auxiliary?.[name])
    .map(({ name }) => name);
  const former = resolved.runtime && resolved.runtime.home !== record.runtime?.home ? resolved.runtime.home : undefined;
  return [
    ...(runtime.settingsIn(plan)?.notes ?? []),
    ...(former ? [`${title}' files in ${former} stay there; auto --clean, before this, would have cleaned them`] : []),
    ...loses.map((each) => `without: ${each}`),
    ...(record.runtime?.mirror ? [] : [`without: ${withheld}; --mirror writes them to ${title}' instructions`]),
    ...(tasks.length > 0
      ? [`tasks that use the subscription too: ${tasks.join(", ")}; --auxiliary TASK=PROVIDER gives one another model`]
      : []),
  ];
}

async function acceptance(target: RuntimeTarget, { resolved }: Desired, plan: Plan): Promise<Check[]> {
  const { agent, runtime, type, name } = target;
  const command = runtime.probe(resolved, type, plan, "accept");
  const checks = runtime.accepted(resolved, plan, await probeRuntime(target, { agent, resolved }, command));
  const failed = checks.filter(({ result }) => result === "fail");
  if (failed.length === 0) return checks;
  throw new Fault("check-failed", `${type.title} does not accept its files for ${agentId(agent)}`, {
    why: failed.map(({ id, reason }) => `${id}: ${reason}`),
    next: enableCommand(name, agent, "--dry-run"),
    data: { checks: failed },
  });
}

/** The runtime's files with every byte that was observed. */
async function filesBefore(target: RuntimeTarget, plan: Plan): Promise<Operation[]> {
  const { agent, resolved } = target;
  const changed = filesIn(target, plan).filter(({ before, text }) => before !== text);
  const former = changed.map((each) => ({ ...each, text: each.before }));
  const restart = activeRuntime(resolved) !== undefined;
  const back = fileOperations(resolved, former, { restart });
  if (!restart) return back;
  const recorded = planIn(target, await desireFor(target, agent.record));
  return [...back, ...recorded.operations.filter((each) => each.kind === "unit" && each.name === resolved.unit)];
}

/** The agent as recorded, and its configuration, which others write to as well, with every byte that was observed. */
async function agentBefore(target: RuntimeTarget, plan: Plan): Promise<Operation[]> {
  const { agent, resolved, observation } = target;
  const back = planIn(target, await desireFor(target, agent.record));
  // Files of the runtime are the other undo's. In another directory they were not observed, and not changed.
  const own = [...filesIn(target, plan), ...filesIn(target, back)].map(({ file: { path } }) => path);
  return back.operations.flatMap((each): Operation[] => {
    if (each.kind === "absent") return own.includes(each.name) ? [] : [each];
    if (each.kind !== "file") return [each];
    if (own.includes(each.path)) return [];
    return each.path === resolved.paths.config ? [{ ...each, content: observation.texts.config?.text ?? "" }] : [each];
  });
}

/** The last part of a rollback: the record, and the proof that the agent answers as before. */
async function restoreAgent(target: RuntimeTarget, executor: Executor, restart: boolean): Promise<string | undefined> {
  const { session, agent, resolved, root } = target;
  const inUse = activeRuntime(resolved) !== undefined;
  const now = findAgent(session.hosts.read(), hostAndName(agent));
  if (!inUse && isDeepStrictEqual(now.record, agent.record)) return undefined;
  const isUp = recordedServiceState(agent.record) === "up";
  if (inUse && restart && isUp) await executor.converge(root, [unit(resolved.unit, { state: "restarted" })]);
  const record = await changeRecord(session, now, ({ status }) => ({ ...agent.record, status }));
  if (!isUp) return undefined;
  const { proofs } = await proveAgent(session, { ...agent, record }, { noChat: "answered before" });
  if (isProven(proofs)) return undefined;
  await changeRecord(session, { ...agent, record }, (each) => withState(each, "validate"));
  return `it does not answer; next: clm agent doctor ${agent.ref}`;
}
