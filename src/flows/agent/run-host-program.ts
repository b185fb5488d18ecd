import type { HostProgram, ProgramAnswer } from "../../agents/sessions/host-program.js";
import { Fault } from "../../errors.js";
import { awaitExit } from "../../remote/await-exit.js";
import { withSilenceTimeout } from "../../remote/silence-timeout.js";
import type { Agent } from "../../state/agents.js";
import { lastLines, tailOf } from "../../text/last-lines.js";
import type { Session } from "../session.js";
import { accountFault, commandInSandbox } from "./run-as-agent.js";
import type { AgentTarget } from "./target.js";

export interface RunOptions {
  /** For messages: `read`. */
  verb: string;
  seconds: number;
  signal: AbortSignal;
  /** When aborted, only stdin is closed, so that the program can undo its work and still answer. */
  awaitAnswer?: boolean;
}

/** One exec, sandboxed: its Python may be the agent's own. Throws when it breaks off or knows no such session. */
export async function* runHostProgram<Answer extends ProgramAnswer>(
  { pool }: Pick<Session, "pool">,
  { agent, resolved }: AgentTarget,
  { script, words, stdin }: HostProgram,
  { verb, seconds, signal, awaitAnswer = false }: RunOptions,
): AsyncGenerator<Answer> {
  const connection = await pool.connect(agent.host);
  signal.throwIfAborted();
  const command = commandInSandbox(agent, resolved, { script, words, seconds });
  const process = await connection.as("root").spawn(command, awaitAnswer ? {} : { signal });
  const stop = () => void process.stdin.end();
  process.stdin.write(stdin);
  if (!awaitAnswer || signal.aborted) stop();
  else signal.addEventListener("abort", stop, { once: true });
  const complaint = tailOf(process.stderr);
  let whole = false;
  try {
    // A margin for a host that does not kill it in time.
    const timeout = (seconds + 30) * 1000;
    const limits = { host: agent.host.name, silence: timeout, ...(!awaitAnswer && { total: timeout }) };
    for await (const line of linesOf(withSilenceTimeout(process.stdout, limits), agent)) {
      const answer = parseAnswer<Answer>(agent, line, verb);
      if (answer.end) whole = true;
      else yield answer;
    }
  } finally {
    signal.removeEventListener("abort", stop);
    stop();
    if (!whole) process.leave();
  }
  const { code } = await awaitExit(process, agent.host.name);
  if (!awaitAnswer) signal.throwIfAborted();
  if (!whole) throw brokenOff(agent, complaint(), code, verb);
}

// Bytes: a session with all its messages is one line.
const maxLine = 1 << 26;

export async function* linesOf(
  stream: AsyncIterable<Buffer>,
  agent: Agent,
  maxBytes = maxLine,
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
    if (size > maxBytes) throw tooLong(agent, maxBytes);
  }
}

function parseAnswer<Answer extends ProgramAnswer>(agent: Agent, line: string, verb: string): Answer {
  if (line === "no-user" || line === "foreign-user") throw accountFault(agent, line);
  if (line === "no-python") throw noPython(agent, verb);
  let answer: Answer;
  try {
    answer = JSON.parse(line);
  } catch (error) {
    throw new Fault("remote-failed", `the sessions of ${agent.name} could not be parsed`, { cause: error });
  }
  if (answer.unknown !== undefined) throw unknownSession(agent, answer.unknown, answer.candidates ?? []);
  return answer;
}

export function unknownSession({ name, ref }: Agent, id: string, candidates: string[]): Fault {
  const next = `clm agent sessions list ${ref}`;
  if (candidates.length === 0) return new Fault("not-found", `${name} has no session '${id}'`, { next });
  const more = candidates.length > 5 ? " and more" : "";
  return new Fault("usage", `several sessions of ${name} begin with '${id}'`, {
    why: `${candidates.slice(0, 5).join(", ")}${more}`,
    next,
    data: { sessions: candidates },
  });
}

const tooLong = ({ name, host, ref }: Agent, maxBytes: number): Fault =>
  new Fault("remote-failed", `${host.name} sent a line over the size limit for the sessions of ${name}`, {
    why: `more than ${Math.round(maxBytes / 1e6)} MB arrived`,
    next: `clm agent doctor ${ref}`,
  });

const noPython = ({ host, name }: Agent, verb: string): Fault =>
  new Fault("unsupported", `${host.name} has no Python with which the sessions of ${name} can be ${verb}`, {
    why: "neither python3 nor the agent's own has the module sqlite3",
    next: `clm host exec ${host.name} --sudo -- apt-get install -y python3`,
  });

const brokenOff = ({ name, host }: Agent, complaint: string, code: number | null, verb: string): Fault =>
  new Fault("remote-failed", `${host.name} broke off while the sessions of ${name} were ${verb}`, {
    why: lastLines(complaint, 3, `the program there ended with ${code}`),
    next: `clm host check ${host.name}`,
  });
