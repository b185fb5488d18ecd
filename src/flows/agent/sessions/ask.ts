import type { Readable } from "node:stream";
import { asking, type Question } from "../../../agents/sessions/question.js";
import type { Row } from "../../../agents/sessions/session.js";
import { Fault } from "../../../errors.js";
import type { Agent } from "../../../state/agents.js";
import { hideSecrets } from "../../hide-secrets.js";
import type { Session } from "../../session.js";
import { commandAs, notOurs } from "../memory/as-agent.js";
import { targetOf } from "../target.js";

/** One line of what the host answered. */
export interface Answer {
  session?: Row;
  messages?: Row[];
  earlier?: Row[];
  hit?: Row;
}

/** What the last line, or one that is no answer, may say instead. */
interface Said extends Answer {
  absent?: boolean;
  end?: boolean;
  fault?: string;
  why?: string;
  unknown?: string;
  like?: string[];
}

// A fleet's whole history may be large, and a line slow.
const seconds = 600;
// Bytes: a session with all its messages is one.
const longestLine = 1 << 26;

/** Asks an agent's state.db, in one exec and with the agent's own rights. Answers come as they are read; nothing is changed. */
export async function* askSessions(session: Session, word: string, question: Question): AsyncGenerator<Answer> {
  // What people and tools said may hold any of them.
  hideSecrets(session);
  const { agent, subject } = await targetOf(session, word);
  const connection = await session.pool.connect(agent.host);
  const { script, words, stdin } = asking(question, subject.places);
  const command = commandAs(agent, { script, words }, seconds);
  const process = await connection.as("root").spawn(command, { signal: session.signal });
  process.stdin.end(stdin);
  let complaint = "";
  process.stderr.on("data", (chunk: Buffer) => {
    complaint = (complaint + chunk.toString()).slice(-2000);
  });
  let whole = false;
  try {
    for await (const line of linesOf(process.stdout, agent)) {
      const said = understood(agent, line);
      if (said.end) whole = true;
      else if (!said.absent) yield said;
    }
  } finally {
    // Nobody reads on.
    if (!whole) process.leave();
  }
  const { code } = await process.done;
  session.signal.throwIfAborted();
  if (!whole) throw brokenOff(agent, complaint, code);
}

export async function* linesOf(stream: Readable, agent: Agent, longest = longestLine): AsyncGenerator<string> {
  let rest: Buffer[] = [];
  let size = 0;
  for await (const chunk of stream as AsyncIterable<Buffer>) {
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

function understood(agent: Agent, line: string): Said {
  if (line === "no-user" || line === "stranger") throw notOurs(agent, line);
  if (line === "no-python") throw noPython(agent);
  let said: Said;
  try {
    said = JSON.parse(line);
  } catch (error) {
    throw new Fault("remote-failed", `the sessions of ${agent.name} could not be understood`, { cause: error });
  }
  if (said.unknown !== undefined) throw unknownSession(agent, said.unknown, said.like ?? []);
  if (said.fault !== undefined) throw unreadable(agent, said.fault, said.why ?? "");
  return said;
}

export function unknownSession({ name, word }: Agent, id: string, like: string[]): Fault {
  const next = `clm agent sessions list ${word}`;
  if (like.length === 0) return new Fault("not-found", `${name} has no session '${id}'`, { next });
  const more = like.length > 5 ? " and more" : "";
  return new Fault("usage", `several sessions of ${name} begin with '${id}'`, {
    why: `${like.slice(0, 5).join(", ")}${more}`,
    next,
    data: { sessions: like },
  });
}

const tooLong = ({ name, host, word }: Agent, longest: number): Fault =>
  new Fault("remote-failed", `${host.name} answers about the sessions of ${name} with a line that does not end`, {
    why: `more than ${Math.round(longest / 1e6)} MB of it came`,
    next: `clm agent doctor ${word}`,
  });

function unreadable({ name, host, word }: Agent, fault: string, why: string): Fault {
  if (fault === "busy") {
    return new Fault("conflict", `the sessions of ${name} changed while they were read`, {
      why,
      next: "the same command again",
    });
  }
  return new Fault("remote-failed", `the sessions of ${name} cannot be read on ${host.name}`, {
    why: [why, ...(fault === "unshared" ? ["the agent makes it anew when it starts"] : [])],
    next: fault === "unshared" ? `clm agent start ${word}` : `clm agent doctor ${word}`,
  });
}

const noPython = ({ host, name }: Agent): Fault =>
  new Fault("unsupported", `${host.name} has no Python that can read the sessions of ${name}`, {
    why: "neither python3 nor the agent's own has the module sqlite3",
    next: `clm host exec ${host.name} --sudo -- apt-get install -y python3`,
  });

const brokenOff = ({ name, host }: Agent, complaint: string, code: number | null): Fault =>
  new Fault("remote-failed", `${host.name} broke off while the sessions of ${name} were read`, {
    why: complaint.trim() ? complaint.trim().split("\n").slice(-3) : `the program there ended with ${code}`,
    next: `clm host check ${host.name}`,
  });
