import { accountComment } from "../../agents/plan/owner-tag.js";
import { oneShotUnit, type RunAs } from "../../agents/plan/transient-unit.js";
import { Fault } from "../../errors.js";
import { sh } from "../../quote.js";
import { run } from "../../remote/run.js";
import { type Agent, agentId } from "../../state/agents.js";
import { lastLines } from "../../text/last-lines.js";
import type { Session } from "../session.js";

// The account is looked at first: one that clm did not make is somebody else's, whatever its name.
const check = `
user=$1 comment=$2
shift 2
PATH=$PATH:/usr/sbin:/usr/bin:/sbin:/bin
account=$(getent passwd "$user") || { echo no-user; exit 0; }
IFS=: read -r _ _ uid gid is_comment _ <<END
$account
END
[ -z "$comment" ] || [ "$is_comment" = "$comment" ] || { echo stranger; exit 0; }
cd /
`;

const drop = `${check}
home=$1 seconds=$2 script=$3
shift 3
exec timeout "$seconds" setpriv --reuid "$uid" --regid "$gid" --init-groups --no-new-privs -- env -i HOME="$home" LC_ALL=C \\
  PATH=/usr/local/bin:/usr/bin:/bin /bin/sh -c "$script" clm "$@"
`;

export interface Errand {
  script: string;
  words: string[];
  stdin?: Uint8Array;
  /** What could not be reached, when it fails. */
  about: string;
}

/**
 * Runs a script on the host with the rights of the agent's user, in one exec. Root lends its hands only to become that
 * user: in a directory of the agent's, root could be led anywhere by a link. Returns the lines it answered. The script runs outside the
 * agent's sandbox, so it may call programs of the system only, never one that the agent owns: those take `commandInSandbox`.
 */
export async function asAgent(session: Session, agent: Agent, errand: Errand): Promise<string[]> {
  const { host } = agent;
  const { script, words, stdin, about } = errand;
  const connection = await session.pool.connect(host);
  const { code, stdout, stderr } = await run(connection.as("root"), commandAs(agent, { script, words }), {
    stdin: Buffer.from(stdin ?? ""),
    signal: session.signal,
    timeout: 90_000,
  });
  const lines = stdout.split("\n").slice(0, -1);
  if (lines[0] === "no-user" || lines[0] === "stranger") throw notOurs(agent, lines[0]);
  if (code === 0) return lines;
  const full = /No space left on device|Disk quota exceeded/.test(stderr);
  throw new Fault(full ? "host-full" : "remote-failed", `${about} could not be reached on ${host.name}`, {
    why: lastLines(stderr, 5),
    next: `clm host check ${host.name}`,
  });
}

function commandAs({ record }: Agent, { script, words }: Pick<Errand, "script" | "words">): string {
  return sh`/bin/sh -c ${drop} drop ${record.user} ${commentOf(record)} ${record.home} 60 ${script} ${words}`;
}

const commentOf = ({ mark }: Agent["record"]): string => (mark ? accountComment(mark) : "");

/**
 * The command of root's that runs a script as the agent's user in the sandbox of its service, with the system's PATH. It answers
 * `no-user` or `stranger` when the account is missing or not the agent's. Everything it started is killed when it ends, or after so many seconds.
 */
export function commandInSandbox(
  { record }: Agent,
  resolved: RunAs,
  { script, words, seconds }: Pick<Errand, "script" | "words"> & { seconds: number },
): string {
  const variables = { PATH: "/usr/local/bin:/usr/bin:/bin", LC_ALL: "C" };
  const unit = oneShotUnit(resolved, { words: ["/bin/sh", "-c", script, "clm", ...words], seconds, variables });
  return sh`/bin/sh -c ${`${check}${unit}`} run ${record.user} ${commentOf(record)}`;
}

export function notOurs(agent: Agent, answer: string): Fault {
  const { record, host, ref } = agent;
  return new Fault(
    "not-found",
    answer === "no-user"
      ? `there is no user ${record.user} on ${host.name} any more`
      : `the user ${record.user} on ${host.name} is not the one clm made for ${agentId(agent)}`,
    { why: "nothing was changed", next: `clm agent show ${ref}` },
  );
}
