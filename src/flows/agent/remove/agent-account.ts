import { loadType } from "../../../agents/manifest/registry.js";
import { accountComment } from "../../../agents/plan/owner-tag.js";
import { pathsFor } from "../../../agents/plan/resolved-agent.js";
import { Fault } from "../../../errors.js";
import { sh } from "../../../quote.js";
import type { Connection } from "../../../remote/connection.js";
import { run } from "../../../remote/run.js";
import type { AgentRecord } from "../../../state/agent.js";
import { type Agent, hostAndName } from "../../../state/agents.js";
import type { Session } from "../../session.js";

/** Whether the account exists. One that may not be the agent's is a fault, and is not removed. */
export function ownAccountExists(session: Session, connection: Connection, agent: Agent): Promise<boolean> {
  const { mark } = agent.record;
  return mark === undefined
    ? adoptedAccountExists(session, connection, agent)
    : markedAccountExists(session, connection, agent, mark);
}

async function markedAccountExists(
  { signal }: Session,
  connection: Connection,
  agent: Agent,
  mark: string,
): Promise<boolean> {
  const { user } = agent.record;
  const { stdout } = await run(connection.as("root"), sh`getent passwd ${user}`, { timeout: 30_000, signal });
  const [name, , , , comment] = stdout.trim().split(":");
  if (name !== user) return false;
  if (comment === accountComment(mark)) return true;
  throw new Fault("in-use", `the account ${user} on ${agent.host.name} is not the one clm made`, {
    why: "another account has that name; clm removes only what it made",
    next: `clm agent remove ${hostAndName(agent)} --forget`,
  });
}

/** The account of an agent that was taken over has no mark: everything else must show that it is the agent's. */
async function adoptedAccountExists(session: Session, connection: Connection, agent: Agent): Promise<boolean> {
  const { user, home, unit, type } = agent.record;
  const { manifest } = await loadType(session.configDir, type);
  const { data } = pathsFor(manifest, user, home);
  const command = sh`/bin/sh -c ${accountScript} sh ${[user, `/etc/systemd/system/${unit}`, data]}`;
  const options = { timeout: 30_000, signal: session.signal };
  const { stdout, stderr, code } = await run(connection.as("root"), command, options);
  const host = agent.host.name;
  if (code !== 0) {
    const what = `${host} could not tell whose the account ${user} is; nothing was removed`;
    throw new Fault("remote-failed", what, { why: stderr.trim(), next: `clm host check ${host}` });
  }
  const observation = parseAccount(stdout);
  const doubts = doubtsAbout({ ...agent.record, data }, observation, connection.user);
  if (doubts.length === 0) return observation.account !== undefined;
  throw new Fault("in-use", `the account ${user} on ${host} may be somebody else's; nothing was removed`, {
    why: [`${agent.name} was taken over, so its account has no mark of clm`, ...doubts],
    next: `clm agent remove ${hostAndName(agent)} --forget`,
  });
}

export interface AccountObservation {
  account?: { uid: number; home: string; shell: string };
  /** The last `User=` in its unit file; undefined when there is no such file. */
  unitUser?: string;
  /** What its data directory is, and its owner; undefined when it does not exist. */
  data?: { kind: string; uid: number };
}

/** $1 is the account, $2 the unit file and $3 the data directory. */
const accountScript = `
account=$(getent passwd "$1") && printf 'account=%s\\n' "$account"
[ ! -f "$2" ] || printf 'unit=%s\\n' "$(sed -n 's/^User=//p' "$2" | tail -n 1)"
data=$(stat -c '%u %F' -- "$3" 2>/dev/null) && printf 'data=%s\\n' "$data"
true`;

export function parseAccount(text: string): AccountObservation {
  const values = new Map(text.split("\n").map((line) => [line.slice(0, line.indexOf("=")), line.replace(/^\w+=/, "")]));
  const [, , uid, , , home = "", shell = ""] = (values.get("account") ?? "").split(":");
  const unitUser = values.get("unit");
  const [owner, kind] = (values.get("data") ?? "").split(" ", 2);
  return {
    ...(uid !== undefined && { account: { uid: Number(uid), home, shell } }),
    ...(unitUser !== undefined && { unitUser }),
    ...(owner && kind && { data: { kind, uid: Number(owner) } }),
  };
}

const closedShell = /\/(nologin|false)$/;
// Debian gives the ids below to accounts of the system.
const firstUserId = 1000;

/** Every reason to think that the account is not the agent's alone. */
export function doubtsAbout(
  record: Pick<AgentRecord, "user" | "home" | "unit" | "status"> & { data: string },
  { account, unitUser, data }: AccountObservation,
  login: string,
): string[] {
  const { user, home, unit } = record;
  // A removal that was interrupted has removed some of it; the rest must still be the agent's.
  const begun = record.status === "removing";
  const doubts: string[] = [];
  if (unitUser === undefined ? !begun && account : unitUser !== user) {
    doubts.push(`/etc/systemd/system/${unit} does not run as ${user}`);
  }
  if (!account) return doubts;
  if (user === login) doubts.push(`${user} is who clm logs in as`);
  if (account.uid < firstUserId) doubts.push(`${user} is an account of the system (user id ${account.uid})`);
  if (!closedShell.test(account.shell)) doubts.push(`${user} can log in (its shell is ${account.shell || "/bin/sh"})`);
  if (account.home !== home) doubts.push(`its home is ${account.home}, not ${home}`);
  if (data ? data.kind !== "directory" || data.uid !== account.uid : !begun) {
    doubts.push(`${record.data} is not a directory of ${user}`);
  }
  return doubts;
}
