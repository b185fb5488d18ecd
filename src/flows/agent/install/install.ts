import type { Check } from "../../../agents/check.js";
import { type Change, change as changeOf, changesOf } from "../../../agents/plan/change.js";
import { accountOperations, unitOperation } from "../../../agents/plan/operations.js";
import { freePort, objectionTo } from "../../../agents/plan/ports.js";
import { Fault } from "../../../errors.js";
import { converge } from "../../../remote/operations/converge.js";
import { type Operation, pkg } from "../../../remote/operations/operation.js";
import type { AgentRecord } from "../../../state/agent.js";
import { type Agent, recordAgent } from "../../../state/agents.js";
import { findHost } from "../../../state/hosts.js";
import { check, flow } from "../../flow.js";
import { fetchInstaller, type Installer } from "../../registry/installer.js";
import type { Session } from "../../session.js";
import { withAgentLock } from "../agent-lock.js";
import { isSame, withState } from "../agent-record.js";
import { keyDescription, newKey } from "../api-key.js";
import { preflight, type ReadyHost } from "../preflight/preflight.js";
import { aptCommand, portQuestion } from "../preflight/preflight-checks.js";
import {
  agentFrom,
  type InstallOptions,
  type InstallPlan,
  installationFrom,
  otherPorts,
  planInstall,
  resolvedFrom,
} from "./install-plan.js";
import { isInstalled, mustBeStopped } from "./installed-release.js";
import { installerGone, runInstaller } from "./installer-job.js";

export interface InstallResult {
  agent: Agent;
  /** `repaired`: it was installed, and something about it was fixed. `would`: a dry run. */
  outcome: "installed" | "already" | "repaired" | "would";
  checks: Check[];
  /** Without the installer's own changes. */
  changes: Change[];
  /** The digest of the installer that ran, or would. */
  installer?: string;
  warnings: string[];
}

/** Does not start the agent. Everything is checked before the first change; after a kill the same command resumes. */
export function installAgent(session: Session, options: InstallOptions): Promise<InstallResult> {
  return withAgentLock(session, options, async () => {
    const plan = await planInstall(session, options);
    const { host, before, draft } = plan;
    const { ready, installer } = await checkHost(session, plan);
    const common = { checks: ready.checks, warnings: [], ...(installer && { installer: installer.sha256 }) };
    const differences = before?.installed_at ? await compare(plan, ready) : [];
    const isKnown = before?.status === "installed" && isSame(before, draft);
    if (isKnown && !installer && differences.length === 0)
      return { ...common, agent: agentFrom(plan, before), outcome: "already", changes: [] };
    if (!session.gate.dryRun) await agreeOnPackages(session, plan, ready);

    const { root } = ready;
    const action = {
      verb: "agent install",
      target: `${host.name}/${options.name}`,
      summary: `install ${draft.type} ${draft.version} on ${host.name} as ${options.name}`,
    };
    return flow(session, action, async (phases) => {
      const { change, record } = phases;
      const begun = draftFor(plan, differences, installer);
      const claimed = (await record("the agent has its port", () => claim(session, plan, ready, begun))) ?? draft;
      await record("the agent has an API key", () => makeKey(session, plan));
      const account = [...packagesFor(ready), ...accountOperations(resolvedFrom(plan, claimed), draft.mark)];
      const prepared = await change(`prepare the account ${claimed.user}`, { root, operations: account });
      const warnings = installer
        ? await runInstaller(phases, session, { plan, ready, record: claimed, installer })
        : [];
      const operations = finalOperations(plan, claimed, ready);
      const finished = await change(`write the unit ${claimed.unit}`, { root, operations });
      const installed = await record("the agent is installed", () => setInstalled(session, plan, claimed));
      return {
        ...common,
        agent: agentFrom(plan, installed ?? claimed),
        outcome: session.gate.dryRun ? "would" : before?.status === "installed" ? "repaired" : "installed",
        changes: eachOnce([...newSudo(plan, ready), ...changesOf(prepared), ...changesOf(finished)]),
        warnings,
      };
    });
  });
}

async function checkHost(
  session: Session,
  plan: InstallPlan,
): Promise<{ ready: ReadyHost; installer?: Installer | undefined }> {
  const { before, draft, options } = plan;
  const { release } = resolvedFrom(plan, draft);
  const ran = before?.installer?.sha256 === release.installer?.sha256;
  const fetch = async () =>
    release.installer && fetchInstaller(session, release.installer, { file: options.installerFile });
  const fetched = ran && options.installerFile === undefined ? undefined : await fetch();
  const ready = await check(session, `check ${plan.host.name}`, () =>
    preflight(session, plan.host, installationFrom(plan)),
  );
  if (ran && (await isInstalled(session, ready))) return { ready };
  mustBeStopped(plan, ready);
  return { ready, installer: fetched ?? (await fetch()) };
}

const setInstalled = (session: Session, { host, options: { name } }: InstallPlan, claimed: AgentRecord) =>
  recordAgent(session.hosts, { host: host.name, name }, (now = claimed) => ({
    ...now,
    status: "installed",
    installed_at: now.installed_at ?? session.now().toISOString(),
  }));

/** A changed unit has to be proven again, and an installer that runs is not recorded yet. */
function draftFor(plan: InstallPlan, differences: Change[], installer: Installer | undefined): AgentRecord {
  const unit = unitOperation(resolvedFrom(plan, plan.draft), 0).id;
  const changesProven = plan.draft.onboarding.state === "ready" && differences.some(({ what }) => what === unit);
  const draft = changesProven ? withState(plan.draft, "validate") : plan.draft;
  if (!installer) return draft;
  const { installer: _, ...begun } = draft;
  return { ...begun, status: "installing" };
}

const newSudo = ({ host }: InstallPlan, { facts }: ReadyHost): Change[] =>
  host.sudo === facts.sudo ? [] : [changeOf(`the record of ${host.name}`, `sudo ${host.sudo} -> ${facts.sudo}`)];

/** The account is compared twice, and may differ twice in the same way. */
const eachOnce = (changes: Change[]): Change[] => [
  ...new Map(changes.map((change) => [JSON.stringify(change), change])).values(),
];

async function compare(plan: InstallPlan, ready: ReadyHost): Promise<Change[]> {
  const operations = [...packagesFor(ready), ...finalOperations(plan, plan.draft, ready)];
  return [...newSudo(plan, ready), ...changesOf(await converge(ready.root, operations, { mode: "check" }))];
}

const packagesFor = ({ missing }: ReadyHost): Operation[] => (missing.length > 0 ? [pkg(missing)] : []);

/** The account comes again, because an installer leaves its folders readable for others. */
function finalOperations(plan: InstallPlan, record: AgentRecord, { facts }: ReadyHost): Operation[] {
  const agent = resolvedFrom(plan, record);
  const { enabled, ...unit } = unitOperation(agent, facts.systemd);
  return [
    ...accountOperations(agent, plan.draft.mark),
    // Start and stop decide whether an agent that was installed before runs at boot.
    plan.before?.installed_at || enabled === undefined ? unit : { ...unit, enabled },
    ...installerGone(agent.name),
  ];
}

async function claim(
  { hosts }: Session,
  { host, options: { name }, before, manifest, types }: InstallPlan,
  { installation, observation, facts }: ReadyHost,
  draft: AgentRecord,
): Promise<AgentRecord> {
  let record = draft;
  await hosts.update((fleet) => {
    const now = findHost(fleet.hosts, host.name);
    const ports = { range: manifest.api.port, recorded: otherPorts(now, name, types) };
    const question = portQuestion({ ...installation, ports }, observation);
    const port = installation.port ?? freePort(question);
    const objection = port === undefined ? "no port is left" : objectionTo(port, question);
    if (port === undefined || objection) throw new Fault("in-use", objection ?? "no port is left");
    record = { ...draft, port };
    if (before && isSame(before, record) && now.sudo === facts.sudo) return fleet;
    const changed = { ...now, sudo: facts.sudo, agents: { ...now.agents, [name]: record } };
    return { ...fleet, hosts: fleet.hosts.map((each) => (each === now ? changed : each)) };
  });
  return record;
}

async function makeKey({ secrets, ui }: Session, { host, manifest, options }: InstallPlan): Promise<void> {
  const owner = { host: host.name, type: manifest.type, agent: options.name };
  const { secret } = manifest.api;
  if (secret === undefined || secrets.get(owner, secret)) return;
  const key = newKey();
  ui.hide(key);
  await secrets.set(owner, secret, key, keyDescription);
}

/** Packages change the host itself, not only the agent: they are installed only when the user agrees. */
async function agreeOnPackages({ ui }: Session, { host }: InstallPlan, { missing }: ReadyHost): Promise<void> {
  if (missing.length === 0) return;
  const message = `${host.name} lacks ${missing.join(", ")}. Install ${missing.length === 1 ? "it" : "them"} there as root?`;
  if (await ui.confirm({ message, flag: "--yes" })) return;
  throw new Fault("declined", `${host.name} lacks ${missing.join(", ")}; nothing was changed`, {
    next: aptCommand(missing),
  });
}
