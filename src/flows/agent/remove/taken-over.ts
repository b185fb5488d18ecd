import type { AgentRecord } from "../../../state/agent.js";

/** What a host shows of an agent that was taken over: no mark of ours tells that the account is the agent's. */
export interface Shown {
  account?: { uid: number; home: string; shell: string };
  /** The last `User=` in its unit file; nothing when there is no such file. */
  unitUser?: string;
  /** What stands where its data should be, and whose that is; nothing when nothing does. */
  data?: { kind: string; uid: number };
}

/** Reads the lines of `lookScript`. */
export function shownFrom(text: string): Shown {
  const said = new Map(text.split("\n").map((line) => [line.slice(0, line.indexOf("=")), line.replace(/^\w+=/, "")]));
  const shown: Shown = {};
  const [, , uid, , , home = "", shell = ""] = (said.get("account") ?? "").split(":");
  if (uid !== undefined) shown.account = { uid: Number(uid), home, shell };
  const unitUser = said.get("unit");
  if (unitUser !== undefined) shown.unitUser = unitUser;
  const [owner, kind] = (said.get("data") ?? "").split(" ", 2);
  if (owner && kind) shown.data = { kind, uid: Number(owner) };
  return shown;
}

/** To be run as root, with $1 its account, $2 its unit file and $3 its data directory. Changes nothing. */
export const lookScript = `
account=$(getent passwd "$1") && printf 'account=%s\\n' "$account"
[ ! -f "$2" ] || printf 'unit=%s\\n' "$(sed -n 's/^User=//p' "$2" | tail -n 1)"
data=$(stat -c '%u %F' -- "$3" 2>/dev/null) && printf 'data=%s\\n' "$data"
true`;

const closedShell = /\/(nologin|false)$/;
// Debian gives the ids below to what belongs to the system.
const firstPerson = 1000;

/** What speaks against removing it: everything must show that the account is the agent's and nobody else's. */
export function doubtsAbout(
  { user, home, unit, status }: Pick<AgentRecord, "user" | "home" | "unit" | "status">,
  { account, unitUser, data }: Shown,
  login: string,
): string[] {
  // A removal that was cut short has taken some of it away; what is there still must be the agent's.
  const begun = status === "removing";
  const doubts: string[] = [];
  if (unitUser === undefined ? !begun && account : unitUser !== user) {
    doubts.push(`/etc/systemd/system/${unit} does not run as ${user}`);
  }
  if (!account) return doubts;
  if (user === login) doubts.push(`${user} is who clm logs in as`);
  if (account.uid < firstPerson) doubts.push(`${user} is an account of the system (user id ${account.uid})`);
  if (!closedShell.test(account.shell)) doubts.push(`${user} can log in (its shell is ${account.shell || "/bin/sh"})`);
  if (account.home !== home) doubts.push(`its home is ${account.home}, not ${home}`);
  if (data ? data.kind !== "directory" || data.uid !== account.uid : !begun) {
    doubts.push(`${home}/.hermes is not a directory of ${user}`);
  }
  return doubts;
}
