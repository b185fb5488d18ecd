import { type Reply, type Request, requesting } from "../../agents/handoff/request.js";
import { Fault } from "../../errors.js";
import { run } from "../../remote/run.js";
import type { Agent } from "../../state/agents.js";
import { commandAs, notOurs } from "../agent/memory/as-agent.js";
import { targetOf } from "../agent/target.js";
import type { Session } from "../session.js";

// A transcript may be large, and the agent may be writing meanwhile.
const seconds = 300;

/**
 * Changes an agent's state.db, with the agent's own rights and in one transaction. It is done in SQL at every version: the API
 * has sessions from 0.15 on, and takes no messages for them at any. Two ways would be two halves, and this one is needed.
 */
export async function request(
  session: Pick<Session, "hosts" | "configDir" | "pool">,
  agent: Agent,
  asked: Request,
  signal: AbortSignal,
): Promise<Reply> {
  const { subject } = await targetOf(session, `${agent.host.name}/${agent.name}`);
  const connection = await session.pool.connect(agent.host);
  const { script, words, stdin } = requesting(asked, subject.places);
  const command = commandAs(agent, { script, words }, seconds);
  const options = { stdin: Buffer.from(stdin), signal, timeout: (seconds + 10) * 1000 };
  const { code, stdout, stderr } = await run(connection.as("root"), command, options);
  const reply = replyIn(agent, stdout.trim());
  if (code !== 0 || !reply) throw brokenOff(agent, stderr, code);
  if (reply.absent) throw noDatabase(agent);
  if (reply.fault !== undefined) throw refused(agent, reply);
  return reply;
}

function replyIn(agent: Agent, line: string): Reply | undefined {
  if (line === "no-user" || line === "stranger") throw notOurs(agent, line);
  if (line === "no-python") throw noPython(agent);
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}

const noDatabase = ({ name, word }: Agent): Fault =>
  new Fault("not-ready", `${name} has no state.db that a conversation could be put into`, {
    why: "the agent makes it itself when it is first talked to; nothing was changed",
    next: `clm chat ${word} --once hello`,
  });

const refused = ({ name, host, word }: Agent, { fault, why }: Reply): Fault =>
  new Fault(fault === "unwritable" ? "remote-failed" : "conflict", `the sessions of ${name} could not be changed`, {
    why: why ?? `on ${host.name}`,
    next: `clm agent doctor ${word}`,
    data: { reason: fault },
  });

const noPython = ({ host, name }: Agent): Fault =>
  new Fault("unsupported", `${host.name} has no Python that can write the sessions of ${name}`, {
    why: "neither the agent's own nor python3 has the module sqlite3",
    next: `clm host exec ${host.name} --sudo -- apt-get install -y python3`,
  });

const brokenOff = ({ name, host }: Agent, stderr: string, code: number | null): Fault =>
  new Fault("remote-failed", `${host.name} broke off while the sessions of ${name} were changed`, {
    why: stderr.trim() ? stderr.trim().split("\n").slice(-3) : `the program there ended with ${code}`,
    next: `clm host check ${host.name}`,
  });
