import { type Change, change, changesOf } from "../../../agents/plan/change.js";
import { accountOperations, unitOperation } from "../../../agents/plan/operations.js";
import { Fault, isFault } from "../../../errors.js";
import { sh } from "../../../quote.js";
import { converge } from "../../../remote/operations/converge.js";
import { type Operation, pkg } from "../../../remote/operations/operation.js";
import type { AgentRecord } from "../../../state/agent.js";
import { type Agent, recordAgent } from "../../../state/agents.js";
import { findHost } from "../../../state/hosts.js";
import type { Action, Executor } from "../../gate.js";
import type { Check } from "../../host/check.js";
import { fetchInstaller, type Installer } from "../../registry/installer.js";
import type { Session } from "../../session.js";
import { step } from "../../step.js";
import { withAgentLock } from "../agent-lock.js";
import { keyDescription, newKey } from "../api-key.js";
import { withState } from "../configure/record.js";
import { freePort, objectionTo } from "../preflight/free-port.js";
import { type Preflight, preflight } from "../preflight/preflight.js";
import { portQuestion, remedy } from "../preflight/preflight-checks.js";
import {
  agentIn,
  type InstallWish,
  otherPorts,
  type Plan,
  planInstall,
  subjectIn,
  travellerOf,
} from "./install-plan.js";
import { mustBeInstalled, mustNotRun, saysItIsThere } from "./installed-release.js";
import { followInstaller, installerGone, installerWishes, leftBehind } from "./installer-job.js";

export type { InstallWish } from "./install-plan.js";

export interface Installed {
  agent: Agent;
  /** `repaired`: it was there, and something about it was put right. `would`: a dry run. */
  outcome: "installed" | "already" | "repaired" | "would";
  checks: Check[];
  /** What was changed, or would be, beside what the installer does. */
  changes: Change[];
  /** The digest of the installer that ran, or would. */
  installer?: string;
  /** What the installer warned of. */
  warnings: string[];
}

/**
 * Install: the account, what the pinned installer brings, and a unit that is disabled and not started. Everything is
 * checked before the first change; killed anywhere, the same command goes on from there.
 */
export function installAgent(session: Session, wish: InstallWish): Promise<Installed> {
  return withAgentLock(session, wish, () => install(session, wish));
}

async function install(session: Session, wish: InstallWish): Promise<Installed> {
  const { ui, gate } = session;
  const plan = await planInstall(session, wish);
  const { host, before, draft } = plan;
  const release = subjectIn(plan, draft).release;
  // What was run to its end is not fetched again, unless it turns out to be gone from the host.
  const ran = before?.installer?.sha256 === release.installer.sha256;
  const fetch = () => fetchInstaller(session, release, { file: wish.installerFile });
  const fetched = ran && wish.installerFile === undefined ? undefined : await fetch();

  const flight = await step(ui, `check ${host.name}`, () => preflight(session, travellerOf(plan)));
  const isThere = ran && (await saysItIsThere(session, plan, flight));
  if (!isThere) mustNotRun(plan, flight);
  const installer = isThere ? undefined : (fetched ?? (await fetch()));

  const known = before?.status === "installed" && same(before, draft);
  const changes = before?.installed_at || gate.dryRun ? await look(plan, flight) : [];
  const told = { checks: flight.checks, changes, warnings: [], ...(installer && { installer: installer.sha256 }) };
  if (known && !installer && changes.length === 0) return { ...told, agent: agentIn(plan, before), outcome: "already" };
  if (!gate.dryRun) await agreeOnPackages(session, plan, flight);

  const action: Action = {
    verb: "agent install",
    target: `${host.name}/${wish.name}`,
    summary: `install ${draft.type} ${draft.version} on ${host.name} as ${wish.name}`,
  };
  const done = await gate.pass(action, (executor) =>
    work(session, executor, provenAgain(plan, changes), flight, installer).catch((error) => {
      throw resumable(session, error);
    }),
  );
  if (!done) return { ...told, agent: agentIn(plan, draft), outcome: "would" };
  const learned = newSudo(plan, flight);
  return {
    ...told,
    ...done,
    changes: [...learned, ...done.changes],
    outcome: before?.status === "installed" ? "repaired" : "installed",
  };
}

/** What was proven of an agent was proven under its unit as it was. Written down before the unit changes. */
function provenAgain(plan: Plan, changes: Change[]): Plan {
  const { draft } = plan;
  const unit = unitOperation(subjectIn(plan, draft), 0).id;
  if (draft.onboarding.state !== "ready" || !changes.some(({ what }) => what === unit)) return plan;
  return { ...plan, draft: { ...draft, onboarding: withState(draft, "validate").onboarding } };
}

/** How root is reached, when that is another way than the one on record. */
const newSudo = ({ host }: Plan, { facts }: Preflight): Change[] =>
  host.sudo === facts.sudo ? [] : [change(`the record of ${host.name}`, `sudo ${host.sudo} -> ${facts.sudo}`)];

async function work(
  session: Session,
  executor: Executor,
  plan: Plan,
  flight: Preflight,
  installer: Installer | undefined,
): Promise<Pick<Installed, "agent" | "changes" | "warnings">> {
  const { ui } = session;
  const { root, facts } = flight;
  const { name } = plan.wish;
  const at = { host: plan.host.name, name };
  const record = await claim(session, plan, flight, installer);
  const agent = subjectIn(plan, record);
  await makeKey(session, plan);

  const prepared = await step(ui, `prepare the account ${agent.user}`, () =>
    executor.converge(root, [...packagesOf(flight), ...accountOperations(agent, plan.draft.mark)]),
  );
  let warnings: string[] = [];
  if (installer) {
    const run = { resolved: agent, bytes: installer.bytes, sha256: installer.sha256, job: flight.seen.job };
    warnings = await step(ui, `run the installer of ${record.type} ${record.version}`, async (progress) => {
      const begun = leftBehind(session, `the installer may have begun on ${agent.host}, and goes on there`);
      await executor.converge(root, installerWishes(run)).catch(begun);
      return followInstaller(session, root, agent, progress);
    });
    await step(ui, "check what was installed", () =>
      mustBeInstalled(session, plan, flight, record).catch(async (error) => {
        // The job counts as done as long as it is there: without it, the same command runs the installer again.
        await executor.converge(root, installerGone(agent.name));
        throw error;
      }),
    );
    // Not before it was checked: what is recorded here is neither run nor checked by the next install.
    const ran = { sha256: installer.sha256, size: installer.bytes.length };
    await recordAgent(session.hosts, at, (now) => now && { ...now, installer: ran });
  }
  const finished = await step(ui, `write the unit ${agent.unit}`, () =>
    executor.converge(root, finalWishes(plan, record, facts.systemd)),
  );
  const installed = await recordAgent(session.hosts, at, (now) => {
    const { installed_at = session.now().toISOString(), ...rest } = now ?? record;
    return { ...rest, status: "installed", installed_at };
  });
  const changes = [...changesOf(prepared), ...changesOf(finished)];
  return { agent: agentIn(plan, installed ?? record), changes: eachOnce(changes), warnings };
}

/** The account is looked at twice, and may differ twice in the same way. */
const eachOnce = (changes: Change[]): Change[] => [
  ...new Map(changes.map((change) => [JSON.stringify(change), change])).values(),
];

/** What would change, without the installer's own work. */
async function look(plan: Plan, flight: Preflight): Promise<Change[]> {
  const wishes = [...packagesOf(flight), ...finalWishes(plan, plan.draft, flight.facts.systemd)];
  return [...newSudo(plan, flight), ...changesOf(await converge(flight.root, wishes, { mode: "check" }))];
}

const packagesOf = ({ missing }: Preflight): Operation[] => (missing.length > 0 ? [pkg(missing)] : []);

/** How an installed agent is. The account comes again: an installer leaves its folders open to others. */
function finalWishes(plan: Plan, record: AgentRecord, systemd: number): Operation[] {
  const agent = subjectIn(plan, record);
  const { enabled, ...unit } = unitOperation(agent, systemd);
  return [
    ...accountOperations(agent, plan.draft.mark),
    // Whether an agent that is there runs at boot is for start and stop to say.
    plan.before?.installed_at ? unit : { ...unit, ...(enabled !== undefined && { enabled }) },
    ...installerGone(agent.name),
  ];
}

/** Writes down that we begin, with a port that is ours from now on, and how root is reached. */
async function claim(
  { hosts }: Session,
  { host, wish, before, draft, manifest }: Plan,
  { expected, seen, facts }: Preflight,
  installer: Installer | undefined,
): Promise<AgentRecord> {
  let record: AgentRecord = draft;
  await hosts.update((fleet) => {
    const now = findHost(fleet.hosts, host.name);
    const ports = { range: manifest.api.port, recorded: otherPorts(now, wish.name, manifest) };
    const question = portQuestion({ ...expected, ports }, seen);
    const port = expected.port ?? freePort(question);
    const objection = port === undefined ? "no port is left" : objectionTo(port, question);
    if (port === undefined || objection) throw new Fault("in-use", objection ?? "no port is left");
    const { installer: _, ...begun } = draft;
    record = installer ? { ...begun, port, status: "installing" } : { ...draft, port };
    if (before && same(before, record) && now.sudo === facts.sudo) return fleet;
    const changed = { ...now, sudo: facts.sudo, agents: { ...now.agents, [wish.name]: record } };
    return { ...fleet, hosts: fleet.hosts.map((each) => (each === now ? changed : each)) };
  });
  return record;
}

const same = (a: AgentRecord, b: AgentRecord): boolean => JSON.stringify(a) === JSON.stringify(b);

async function makeKey({ secrets, ui }: Session, { host, manifest, wish }: Plan): Promise<void> {
  const instance = { host: host.name, type: manifest.type, agent: wish.name };
  if (secrets.get(instance, manifest.api.secret)) return;
  const key = newKey();
  ui.hide(key);
  await secrets.set(instance, manifest.api.secret, key, keyDescription);
}

/** Missing packages are the host's own: they come only when the user agrees. */
async function agreeOnPackages({ ui }: Session, { host }: Plan, { missing }: Preflight): Promise<void> {
  if (missing.length === 0) return;
  const message = `${host.name} lacks ${missing.join(", ")}. Install ${missing.length === 1 ? "it" : "them"} there as root?`;
  if (await ui.confirm({ message, flag: "--yes" })) return;
  throw new Fault("declined", `${host.name} lacks ${missing.join(", ")}; nothing was changed`, {
    next: remedy(missing),
  });
}

/** Whatever went wrong from here on, the same command goes on from where it is. */
function resumable({ argv }: Session, error: unknown): unknown {
  if (!isFault(error)) return error;
  const again = sh`clm ${argv}`;
  if (error.next.includes(again)) return error;
  return error.with({ next: [again, ...error.next] });
}
