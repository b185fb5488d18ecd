import { type Change, changesOf } from "../../../agents/plan/change.js";
import { removalOperations } from "../../../agents/plan/operations.js";
import { proxyUnit } from "../../../agents/plan/proxy.js";
import { type FaultName, isFault } from "../../../errors.js";
import { sh } from "../../../quote.js";
import type { Report } from "../../../remote/operations/converge.js";
import { absent, type Operation } from "../../../remote/operations/operation.js";
import type { Shell } from "../../../remote/process.js";
import { run } from "../../../remote/run.js";
import { type Agent, agentId, hostAndName, recordAgent, secretOwner } from "../../../state/agents.js";
import { keepLast } from "../../chat/last.js";
import { flow } from "../../flow.js";
import type { Session } from "../../session.js";
import { withLockedAgent } from "../agent-lock.js";
import { installerGone } from "../install/installer-job.js";
import { probeProxy, strangerIn } from "../proxy/probe.js";
import { resolve } from "../target.js";
import { ownAccountExists } from "./agent-account.js";
import { type Backup, backUp, backupDirectory, newestBackup } from "./backup.js";

export interface RemoveOptions {
  backup: boolean;
  /** Continue when a part cannot be removed. */
  force: boolean;
  /** The host is gone: remove only clm's local state. */
  forget: boolean;
}

export interface RemoveResult {
  agent: Agent;
  backedUp: boolean;
  /** May be that of an earlier run which was interrupted. */
  backup?: Backup | undefined;
  changes: Change[];
  left: string[];
}

export const removeAgent = (session: Session, ref: string, options: RemoveOptions): Promise<RemoveResult> =>
  withLockedAgent(session, ref, (agent) => (options.forget ? forget(session, agent) : remove(session, agent, options)));

async function remove(session: Session, agent: Agent, { backup, force }: RemoveOptions): Promise<RemoveResult> {
  const { name, host } = agent;
  const forgetLine = `clm agent remove ${hostAndName(agent)} --forget   # only if the machine is gone for good`;
  const connection = await session.pool.connect(host).catch(suggesting(forgetLine, "unreachable"));
  const root = connection.as("root");
  const account = await ownAccountExists(session, connection, agent);
  const proxy = await proxyOn(session, root, agent);
  // An interrupted run made a backup, or had --no-backup, before it removed anything.
  const wantsBackup = backup && account && !isBegun(agent);
  const question = `This removes ${agentId(agent)} with its account, its files and its keys${
    wantsBackup ? " (a backup is made first)" : ""
  }. Type ${name} to continue:`;

  return flow(session, actionOn(agent, `remove ${agentId(agent)}`, question), async ({ change, record }) => {
    const title = `back up the data of ${name} to ${backupDirectory(session.configDir)}, without .env`;
    const made = wantsBackup ? await change(title, () => backUp(session, root, agent)) : undefined;
    await record("the removal has begun", () =>
      recordAgent(session.hosts, at(agent), (now) => now && { ...now, status: "removing" }),
    );
    // Running things first, the user with its files last.
    const home = absent({ path: `${agent.record.home}.clm-new` });
    const operations = [...installerGone(name), ...proxy.operations, home, ...removalOperations(agent.record)];
    const removal = { root, operations, continueOnError: force };
    const report = await change(`remove ${name} from ${host.name}`, removal).catch(
      suggesting(`clm agent remove ${hostAndName(agent)} --force`),
    );
    await record("the agent is removed", () => drop(session, agent));

    const kept = made ?? (await earlierBackup(session, agent));
    return {
      agent,
      changes: changesOf(report).map((change) => withHome(agent, change)),
      left: [...failuresIn(report), ...proxy.left, ...(account ? [] : await orphanedHome(session, root, agent))],
      backedUp: kept !== undefined || (session.gate.dryRun && wantsBackup),
      backup: kept,
    };
  });
}

async function forget(session: Session, agent: Agent): Promise<RemoveResult> {
  const host = agent.host.name;
  const question = `This forgets ${agentId(agent)} and its keys; on ${host} nothing is changed. Type ${agent.name} to continue:`;
  const summary = `forget ${agentId(agent)}, and change nothing on ${host}`;
  return flow(session, actionOn(agent, summary, question), async ({ record }) => {
    await record("the agent is forgotten", () => drop(session, agent));
    const backup = await earlierBackup(session, agent);
    return { agent, changes: [], left: [], backedUp: backup !== undefined, backup };
  });
}

const actionOn = (agent: Agent, summary: string, question: string) => ({
  verb: "agent remove",
  target: hostAndName(agent),
  summary,
  question,
  typed: agent.name,
});

/** Adds a command to the fault. */
const suggesting =
  (command: string, ...names: FaultName[]) =>
  (error: unknown): never => {
    if (!isFault(error, ...names)) throw error;
    throw error.with({ next: [...error.next, command] });
  };

const isBegun = ({ record }: Agent): boolean => record.status === "removing";

const earlierBackup = async ({ configDir }: Session, agent: Agent): Promise<Backup | undefined> =>
  isBegun(agent) ? newestBackup(configDir, agent) : undefined;

const at = ({ name, host }: Agent) => ({ host: host.name, name });

const withHome = ({ record: { user, home } }: Agent, change: Change): Change =>
  change.what === `user ${user}` ? { ...change, what: `${change.what} with its home ${home}` } : change;

const failuresIn = ({ results }: Report): string[] =>
  results
    .filter(({ status }) => status === "failed")
    .map(({ id, removes = id, why }) => `${removes}: ${why?.split("\n").at(-1) ?? "it cannot be removed"}`);

/** A home without its account is reported and not touched: its owner is unknown. */
async function orphanedHome({ signal }: Session, root: Shell, { record: { home, user } }: Agent): Promise<string[]> {
  const { code } = await run(root, sh`test -e ${home}`, { timeout: 30_000, signal });
  return code === 0
    ? [`${home}, with its keys: its account ${user} was gone before; check it and remove it by hand`]
    : [];
}

/** Without a proxy no manifest is needed: its type may be unknown by now. */
async function proxyOn(
  session: Session,
  root: Shell,
  agent: Agent,
): Promise<{ operations: Operation[]; left: string[] }> {
  const resolved = agent.record.proxy && (await resolve(session, agent));
  const type = resolved?.manifest.proxy;
  if (!type) return { operations: [], left: [] };
  const unit = proxyUnit(resolved, type);
  const why = strangerIn(resolved, await probeProxy(session, root, resolved, type, {}));
  return why === undefined
    ? { operations: [absent({ unit })], left: [] }
    : { operations: [], left: [`${unit}: ${why}`] };
}

/** The record goes last, so that the same command can be run again after a kill. */
async function drop(session: Session, agent: Agent): Promise<void> {
  const { secrets, hosts } = session;
  await secrets.remove(secretOwner(agent));
  await keepLast(session, (chats) => chats.forget(agent.host.name, agent.name));
  await recordAgent(hosts, at(agent), () => undefined);
}
