import { accountComment } from "../../agents/plan/account.js";
import { oneShotUnit, type RunAs } from "../../agents/plan/transient-unit.js";
import { Fault } from "../../errors.js";
import { sh } from "../../quote.js";
import { diskFull } from "../../remote/disk-full.js";
import { run } from "../../remote/run.js";
import { type Agent, agentId } from "../../state/agents.js";
import { lastLines } from "../../text/last-lines.js";
import type { Session } from "../session.js";

// An account without clm's comment is not the agent's, whatever its name.
const check = `
user=$1 comment=$2
shift 2
PATH=$PATH:/usr/sbin:/usr/bin:/sbin:/bin
account=$(getent passwd "$user") || { echo no-user; exit 0; }
IFS=: read -r _ _ uid gid actual_comment _ <<END
$account
END
[ -z "$comment" ] || [ "$actual_comment" = "$comment" ] || { echo foreign-user; exit 0; }
cd /
`;

const drop = `${check}
home=$1 seconds=$2 script=$3
shift 3
exec timeout "$seconds" setpriv --reuid "$uid" --regid "$gid" --init-groups --no-new-privs -- env -i HOME="$home" LC_ALL=C \\
  PATH=/usr/local/bin:/usr/bin:/bin /bin/sh -c "$script" clm "$@"
`;

export interface AgentScript {
  script: string;
  words: string[];
  stdin?: Uint8Array;
  /** Names the target in the fault: "… could not be reached". */
  about: string;
}

/**
 * Returns the lines of the script. Not as root: a link in the agent's directories could lead anywhere. It runs outside
 * the sandbox, so it may call only programs of the system; for others use `commandInSandbox`.
 */
export async function runAsAgent(
  session: Session,
  agent: Agent,
  { script, words, stdin, about }: AgentScript,
): Promise<string[]> {
  const { host, record } = agent;
  const connection = await session.pool.connect(host);
  const command = sh`/bin/sh -c ${drop} drop ${record.user} ${commentOf(record)} ${record.home} 60 ${script} ${words}`;
  const { code, stdout, stderr } = await run(connection.as("root"), command, {
    stdin: Buffer.from(stdin ?? ""),
    signal: session.signal,
    timeout: 90_000,
  });
  const lines = stdout.split("\n").slice(0, -1);
  if (lines[0] === "no-user" || lines[0] === "foreign-user") throw accountFault(agent, lines[0]);
  if (code === 0) return lines;
  const full = diskFull.test(stderr);
  throw new Fault(full ? "host-full" : "remote-failed", `${about} could not be reached on ${host.name}`, {
    why: lastLines(stderr, 5),
    next: `clm host check ${host.name}`,
  });
}

const commentOf = ({ mark }: Agent["record"]): string => (mark ? accountComment(mark) : "");

/**
 * A command for root, with the system's PATH. It prints `no-user` or `foreign-user` when the account is missing or not the
 * agent's. Everything it started is killed when it ends, and at the latest after `seconds`.
 */
export function commandInSandbox(
  { record }: Agent,
  resolved: RunAs,
  { script, words, seconds }: Pick<AgentScript, "script" | "words"> & { seconds: number },
): string {
  const variables = { PATH: "/usr/local/bin:/usr/bin:/bin", LC_ALL: "C" };
  const unit = oneShotUnit(resolved, { words: ["/bin/sh", "-c", script, "clm", ...words], seconds, variables });
  return sh`/bin/sh -c ${`${check}${unit}`} run ${record.user} ${commentOf(record)}`;
}

export function accountFault(agent: Agent, answer: "no-user" | "foreign-user", why = "nothing was changed"): Fault {
  const { record, host, ref } = agent;
  const what =
    answer === "no-user"
      ? `the user ${record.user} no longer exists on ${host.name}`
      : `the user ${record.user} on ${host.name} is not the one clm made for ${agentId(agent)}`;
  return new Fault("not-found", what, { why, next: `clm agent show ${ref}` });
}
