import { loadType } from "../../../agents/manifest/registry.js";
import { accountComment } from "../../../agents/plan/account.js";
import { pathsFor } from "../../../agents/plan/resolved-agent.js";
import { Fault } from "../../../errors.js";
import { sh } from "../../../quote.js";
import type { Connection } from "../../../remote/connection.js";
import { run } from "../../../remote/run.js";
import type { AgentRecord } from "../../../state/agent.js";
import { type Agent, hostAndName } from "../../../state/agents.js";
import type { Session } from "../../session.js";

/** One that may not be the agent's is a fault, and is not removed. */
export async function ownAccountExists(session: Session, connection: Connection, agent: Agent): Promise<boolean> {
  const { user, home, unit, type, mark } = agent.record;
  const host = agent.host.name;
  // The manifest is read only when it is needed: the type of an agent may be unknown by now.
  const data =
    mark === undefined ? pathsFor((await loadType(session.configDir, type)).manifest, user, home).data : home;
  const command = sh`/bin/sh -c ${accountScript} sh ${[user, `/etc/systemd/system/${unit}`, data]}`;
  const options = { timeout: 30_000, signal: session.signal };
  const { stdout, stderr, code } = await run(connection.as("root"), command, options);
  if (code !== 0) {
    const what = `${host} could not report the owner of the account ${user}; nothing was removed`;
    throw new Fault("remote-failed", what, { why: stderr.trim(), next: `clm host check ${host}` });
  }
  const observation = parseAccount(stdout);
  const { account } = observation;
  const next = `clm agent remove ${hostAndName(agent)} --forget`;
  if (mark !== undefined) {
    if (!account || account.comment === accountComment(mark)) return account !== undefined;
    const why = "another account has that name; clm removes only what it made";
    throw new Fault("in-use", `the account ${user} on ${host} is not the one clm made`, { why, next });
  }
  const doubts = doubtsAbout({ ...agent.record, data }, observation, connection.user);
  if (doubts.length === 0) return account !== undefined;
  const why = [`${agent.name} was taken over, so its account has no mark of clm`, ...doubts];
  const what = `the account ${user} on ${host} may be somebody else's; nothing was removed`;
  throw new Fault("in-use", what, { why, next });
}

export interface AccountObservation {
  account?: { uid: number; comment: string; home: string; shell: string };
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
  const [, , uid, , comment = "", home = "", shell = ""] = (values.get("account") ?? "").split(":");
  const unitUser = values.get("unit");
  const [owner, kind] = (values.get("data") ?? "").split(" ", 2);
  return {
    ...(uid !== undefined && { account: { uid: Number(uid), comment, home, shell } }),
    ...(unitUser !== undefined && { unitUser }),
    ...(owner && kind && { data: { kind, uid: Number(owner) } }),
  };
}

const closedShell = /\/(nologin|false)$/;
// Debian gives the ids below to accounts of the system.
const firstUserId = 1000;

/** Reasons to think that the account of an adopted agent, which has no mark, is not the agent's alone. */
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
