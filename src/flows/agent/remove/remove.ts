import { loadType } from "../../../agents/manifest/registry.js";
import { type Change, changesOf } from "../../../agents/plan/change.js";
import { removalOperations } from "../../../agents/plan/operations.js";
import { accountComment } from "../../../agents/plan/owner-tag.js";
import { resolvedAgent } from "../../../agents/plan/resolved-agent.js";
import { proxyOf } from "../../../agents/proxy/proxy.js";
import { Fault, isFault } from "../../../errors.js";
import { sh } from "../../../quote.js";
import type { Connection } from "../../../remote/connection.js";
import { converge } from "../../../remote/operations/converge.js";
import { absent, type Operation } from "../../../remote/operations/operation.js";
import type { Shell } from "../../../remote/process.js";
import { run } from "../../../remote/run.js";
import { type Agent, agentId, findAgent, recordAgent, secretOwner } from "../../../state/agents.js";
import { keepLast } from "../../chat/last.js";
import type { Executor } from "../../gate.js";
import type { Session } from "../../session.js";
import { step } from "../../step.js";
import { withAgentLock } from "../agent-lock.js";
import { installerGone } from "../install/installer-job.js";
import { probeProxy, strangerIn } from "../proxy/probe.js";
import { type Backup, backUp, newestBackup } from "./backup.js";
import { doubtsAbout, lookScript, shownFrom } from "./taken-over.js";

export interface RemoveOptions {
  /** What it remembers is copied here first. */
  backup: boolean;
  /** Go on when a part cannot be removed. */
  force: boolean;
  /** The host is gone: only what is kept here is removed. */
  forget: boolean;
}

export interface Removed {
  agent: Agent;
  /** What it remembers was copied here first, or would be. */
  backedUp: boolean;
  /** Where that is; a run that was cut short may have made it. */
  backup?: Backup | undefined;
  /** What was removed from the host, or would be. */
  changes: Change[];
  /** What could not be removed, and why. */
  left: string[];
}

/** Remove: the host is left as it was before the agent came, and what it remembered is kept here. */
export function removeAgent(session: Session, word: string, options: RemoveOptions): Promise<Removed> {
  const { host, name } = findAgent(session.hosts.read(), word);
  const full = `${host.name}/${name}`;
  return withAgentLock(session, { host: host.name, name }, () =>
    options.forget ? forget(session, full) : remove(session, full, options),
  );
}

async function remove(session: Session, word: string, options: RemoveOptions): Promise<Removed> {
  const { ui, gate, signal } = session;
  const agent = findAgent(session.hosts.read(), word);
  const connection = await reach(session, agent, word);
  const root = connection.as("root");
  const account = await mustBeOurs(root, agent, { word, login: connection.user, signal });
  const proxy = await proxyOn(session, root, agent);
  const wishes = goneWishes(agent, proxy.wishes);
  const changes = changesOf(await converge(root, wishes, { mode: "check", signal })).map(withHome(agent));
  // A backup was made, or declined, before the first thing was taken away.
  const wantsBackup = options.backup && account && !isBegun(agent);

  const action = {
    verb: "agent remove",
    target: word,
    summary: `remove ${agentId(agent)}`,
    question: `This removes ${agentId(agent)} with its account, its files and its keys${
      wantsBackup ? " (a backup is made first)" : ""
    }. Type ${agent.name} to go on:`,
    typed: agent.name,
  };
  const done = await gate.pass(action, async (executor) => {
    const backup = wantsBackup
      ? await step(ui, `back up what ${agent.name} remembers`, () => backUp(session, root, agent))
      : undefined;
    await recordAgent(session.hosts, at(agent), (now) => now && { ...now, status: "removing" });
    const left = await step(ui, `remove ${agent.name} from ${agent.host.name}`, () =>
      takeAway(executor, root, wishes, options.force).catch((error) => {
        throw resumable(session, word, error);
      }),
    );
    await drop(session, agent);
    return { left, backup };
  });
  const backup = done?.backup ?? (await earlierBackup(session, agent));
  const backedUp = backup !== undefined || (gate.dryRun && wantsBackup);
  const left = [...(done?.left ?? []), ...proxy.left, ...(account ? [] : await orphaned(root, agent, signal))];
  return { agent, changes, left, backedUp, backup };
}

/** A home whose account somebody removed. Nobody can say any more whose it is, so it is told and not touched. */
async function orphaned(root: Shell, { record: { home, user } }: Agent, signal: AbortSignal): Promise<string[]> {
  const { code } = await run(root, sh`test -e ${home}`, { timeout: 30_000, signal });
  return code === 0
    ? [`${home}, with its keys: its account ${user} was gone before; look at it and remove it by hand`]
    : [];
}

/** A run that was cut short took some of it away. */
const isBegun = ({ record }: Agent): boolean => record.status === "removing";

/** What that run had copied here. */
const earlierBackup = async ({ configDir }: Session, agent: Agent): Promise<Backup | undefined> =>
  isBegun(agent) ? newestBackup(configDir, agent) : undefined;

/** With an account goes all that is its own. */
const withHome =
  ({ record: { user, home } }: Agent) =>
  (change: Change): Change =>
    change.what === `user ${user}` ? { ...change, what: `${change.what} with its home ${home}` } : change;

const at = ({ name, host }: Agent) => ({ host: host.name, name });

async function reach(session: Session, { host }: Agent, word: string): Promise<Connection> {
  return session.pool.connect(host).catch((error) => {
    if (isFault(error, "unreachable"))
      error.next.push(`clm agent remove ${word} --forget   # only if the machine is gone for good`);
    throw error;
  });
}

interface Asking {
  word: string;
  /** Who clm is on the host. */
  login: string;
  signal: AbortSignal;
}

/** Whether its account is there. One that has the name but not our mark is somebody else's, and stays. */
async function mustBeOurs(root: Shell, agent: Agent, asking: Asking): Promise<boolean> {
  const { user, mark } = agent.record;
  const { word, signal } = asking;
  if (mark === undefined) return mustBeTheAgents(root, agent, asking);
  const { stdout } = await run(root, sh`getent passwd ${user}`, { timeout: 30_000, signal });
  const [found, , , , comment] = stdout.trim().split(":");
  if (found !== user) return false;
  if (comment === accountComment(mark)) return true;
  throw new Fault("in-use", `the account ${user} on ${agent.host.name} is not the one clm made`, {
    why: "somebody made another one of that name; clm touches only what it made",
    next: `clm agent remove ${word} --forget`,
  });
}

/** An agent that was taken over was never marked: what is seen of it must tell that the account is its own. */
async function mustBeTheAgents(root: Shell, agent: Agent, { word, login, signal }: Asking): Promise<boolean> {
  const { user, home, unit } = agent.record;
  const paths = [user, `/etc/systemd/system/${unit}`, `${home}/.hermes`];
  const look = sh`/bin/sh -c ${lookScript} sh ${paths}`;
  const { stdout, stderr, code } = await run(root, look, { timeout: 30_000, signal });
  if (code !== 0) {
    const what = `${agent.host.name} could not tell whose the account ${user} is; nothing was removed`;
    throw new Fault("remote-failed", what, { why: stderr.trim(), next: `clm host check ${agent.host.name}` });
  }
  const shown = shownFrom(stdout);
  const doubts = doubtsAbout(agent.record, shown, login);
  if (doubts.length === 0) return shown.account !== undefined;
  throw new Fault("in-use", `the account ${user} on ${agent.host.name} may be somebody else's; nothing was removed`, {
    why: [`${agent.name} was taken over, so its account has no mark of clm`, ...doubts],
    next: `clm agent remove ${word} --forget`,
  });
}

/** In the order in which each can go: what runs first, the user with all that is its own last. */
function goneWishes({ name, record }: Agent, proxy: Operation[]): Operation[] {
  return [...installerGone(name), ...proxy, absent({ path: `${record.home}.clm-new` }), ...removalOperations(record)];
}

/**
 * What of its proxy goes, and what is left because it is somebody else's. Its manifest is asked only when there is a proxy: an
 * agent whose type nobody knows any more can be removed, too.
 */
async function proxyOn(session: Session, root: Shell, agent: Agent): Promise<{ wishes: Operation[]; left: string[] }> {
  const none = { wishes: [], left: [] };
  if (!agent.record.proxy) return none;
  const { manifest } = await loadType(session.configDir, agent.record.type);
  const resolved = resolvedAgent(manifest, agent);
  const proxy = proxyOf(resolved);
  if (!proxy || !manifest.proxy) return none;
  const why = strangerIn(resolved, await probeProxy(session, root, resolved, manifest.proxy, {}));
  return why === undefined
    ? { wishes: [absent({ unit: proxy.unit })], left: [] }
    : { wishes: [], left: [`${proxy.unit}: ${why}`] };
}

/** What is left, when it was told to go on. */
async function takeAway(executor: Executor, root: Shell, wishes: Operation[], force: boolean): Promise<string[]> {
  if (!force) {
    await executor.converge(root, wishes);
    return [];
  }
  const left: string[] = [];
  for (const wish of wishes) {
    const { failed } = await executor.converge(root, [wish], { continueOnError: true });
    if (failed)
      left.push(`${failed.id.replace(/^no /, "")}: ${failed.why?.split("\n").at(-1) ?? "it cannot be removed"}`);
  }
  return left;
}

/** The record goes last, so that a run cut short is done again by the same command. */
async function drop(session: Session, agent: Agent): Promise<void> {
  const { secrets, hosts } = session;
  await secrets.remove(secretOwner(agent));
  await keepLast(session, (chats) => chats.forget(agent.host.name, agent.name));
  await recordAgent(hosts, at(agent), () => undefined);
}

async function forget(session: Session, word: string): Promise<Removed> {
  const agent = findAgent(session.hosts.read(), word);
  const action = {
    verb: "agent remove",
    target: word,
    summary: `forget ${agentId(agent)}, and change nothing on ${agent.host.name}`,
    question: `This forgets ${agentId(agent)} and its keys; on ${agent.host.name} nothing is changed. Type ${agent.name} to go on:`,
    typed: agent.name,
  };
  await session.gate.pass(action, () => drop(session, agent));
  const backup = await earlierBackup(session, agent);
  return { agent, changes: [], left: [], backedUp: backup !== undefined, backup };
}

function resumable({ argv }: Session, word: string, error: unknown): unknown {
  if (!isFault(error)) return error;
  const next = [sh`clm ${argv}`, `clm agent remove ${word} --force`, ...error.next];
  return error.with({ next: [...new Set(next)] });
}
