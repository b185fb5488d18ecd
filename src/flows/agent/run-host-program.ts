import type { HostProgram, Told } from "../../agents/hermes/state-db/program.js";
import { Fault } from "../../errors.js";
import { awaitExit } from "../../remote/await-exit.js";
import { withSilenceTimeout } from "../../remote/silence-timeout.js";
import type { Agent } from "../../state/agents.js";
import { lastLines, tailOf } from "../../text/last-lines.js";
import type { Session } from "../session.js";
import { commandInSandbox, notOurs } from "./as-agent.js";
import type { Target } from "./target.js";

export interface Asking {
  /** What is done with the sessions meanwhile: `read`. */
  verb: string;
  /** The host ends it then. */
  seconds: number;
  signal: AbortSignal;
  /** Who stops does not hang up: the host is told by the end of its stdin, and says what became of it. */
  staying?: boolean;
}

/**
 * Runs a program of ours on an agent's state.db, in one exec and in the agent's sandbox: the Python it runs in may be the agent's own.
 * Its answers come as they are told; one that broke off throws, as one that knows no such session does.
 */
export async function* askStateDb<Answer extends Told>(
  { pool }: Pick<Session, "pool">,
  { agent, resolved }: Target,
  { script, words, stdin }: HostProgram,
  { verb, seconds, signal, staying = false }: Asking,
): AsyncGenerator<Answer> {
  const connection = await pool.connect(agent.host);
  signal.throwIfAborted();
  const command = commandInSandbox(agent, resolved, { script, words, seconds });
  const process = await connection.as("root").spawn(command, staying ? {} : { signal });
  const stop = () => void process.stdin.end();
  process.stdin.write(stdin);
  if (!staying || signal.aborted) stop();
  else signal.addEventListener("abort", stop, { once: true });
  const complaint = tailOf(process.stderr);
  let whole = false;
  try {
    // The host ends its program after `seconds`; one that does not is given up on a little later.
    const longest = (seconds + 30) * 1000;
    const limits = { host: agent.host.name, silence: longest, ...(!staying && { total: longest }) };
    for await (const line of linesOf(withSilenceTimeout(process.stdout, limits), agent)) {
      const said = understood<Answer>(agent, line, verb);
      if (said.end) whole = true;
      else yield said;
    }
  } finally {
    signal.removeEventListener("abort", stop);
    stop();
    // Nobody reads on.
    if (!whole) process.leave();
  }
  const { code } = await awaitExit(process, agent.host.name);
  if (!staying) signal.throwIfAborted();
  if (!whole) throw brokenOff(agent, complaint(), code, verb);
}

// Bytes: a session with all its messages is one.
const longestLine = 1 << 26;

export async function* linesOf(
  stream: AsyncIterable<Buffer>,
  agent: Agent,
  longest = longestLine,
): AsyncGenerator<string> {
  let rest: Buffer[] = [];
  let size = 0;
  for await (const chunk of stream) {
    let from = 0;
    for (let at = chunk.indexOf(10); at >= 0; at = chunk.indexOf(10, from)) {
      yield Buffer.concat([...rest, chunk.subarray(from, at)]).toString("utf8");
      rest = [];
      size = 0;
      from = at + 1;
    }
    if (from === chunk.length) continue;
    rest.push(chunk.subarray(from));
    size += chunk.length - from;
    if (size > longest) throw tooLong(agent, longest);
  }
}

function understood<Answer extends Told>(agent: Agent, line: string, verb: string): Answer {
  if (line === "no-user" || line === "stranger") throw notOurs(agent, line);
  if (line === "no-python") throw noPython(agent, verb);
  let said: Answer;
  try {
    said = JSON.parse(line);
  } catch (error) {
    throw new Fault("remote-failed", `the sessions of ${agent.name} could not be understood`, { cause: error });
  }
  if (said.unknown !== undefined) throw unknownSession(agent, said.unknown, said.like ?? []);
  return said;
}

export function unknownSession({ name, ref }: Agent, id: string, like: string[]): Fault {
  const next = `clm agent sessions list ${ref}`;
  if (like.length === 0) return new Fault("not-found", `${name} has no session '${id}'`, { next });
  const more = like.length > 5 ? " and more" : "";
  return new Fault("usage", `several sessions of ${name} begin with '${id}'`, {
    why: `${like.slice(0, 5).join(", ")}${more}`,
    next,
    data: { sessions: like },
  });
}

const tooLong = ({ name, host, ref }: Agent, longest: number): Fault =>
  new Fault("remote-failed", `${host.name} answers about the sessions of ${name} with a line that does not end`, {
    why: `more than ${Math.round(longest / 1e6)} MB of it came`,
    next: `clm agent doctor ${ref}`,
  });

const noPython = ({ host, name }: Agent, verb: string): Fault =>
  new Fault("unsupported", `${host.name} has no Python by which the sessions of ${name} can be ${verb}`, {
    why: "neither python3 nor the agent's own has the module sqlite3",
    next: `clm host exec ${host.name} --sudo -- apt-get install -y python3`,
  });

const brokenOff = ({ name, host }: Agent, complaint: string, code: number | null, verb: string): Fault =>
  new Fault("remote-failed", `${host.name} broke off while the sessions of ${name} were ${verb}`, {
    why: lastLines(complaint, 3, `the program there ended with ${code}`),
    next: `clm host check ${host.name}`,
  });
