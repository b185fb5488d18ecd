import { type ChannelRequest, channelAsking, type Said } from "../../../agents/handoff/channel/request.js";
import { Fault } from "../../../errors.js";
import { commandAs, notOurs } from "../../agent/memory/as-agent.js";
import { linesOf, unknownSession } from "../../agent/sessions/ask.js";
import type { Target } from "../../agent/target.js";
import type { Session } from "../../session.js";

// What connecting, Python and a database in use may take beyond the wait itself.
const spareSeconds = 60;

/**
 * Asks the agent's own database, in one exec and with the agent's own rights. Who stops does not hang up: the host is told,
 * and says what became of the request.
 */
export async function* askForChannel(
  session: Session,
  { agent, subject }: Target,
  request: ChannelRequest,
): AsyncGenerator<Said> {
  session.signal.throwIfAborted();
  const { host, name } = agent;
  const connection = await session.pool.connect(host);
  const { script, words, stdin } = channelAsking(request, subject.places);
  const seconds = Math.ceil(request.verb === "hand" ? request.wait : 0) + spareSeconds;
  const process = await connection.as("root").spawn(commandAs(agent, { script, words }, seconds));
  process.stdin.write(stdin);
  const stop = () => void process.stdin.end();
  session.signal.addEventListener("abort", stop, { once: true });
  if (session.signal.aborted) stop();
  let complaint = "";
  process.stderr.on("data", (chunk: Buffer) => {
    complaint = (complaint + chunk.toString()).slice(-2000);
  });
  let whole = false;
  try {
    for await (const line of linesOf(process.stdout, agent)) {
      const said = understood({ agent, subject }, line);
      if (said.end) whole = true;
      else yield said;
    }
  } finally {
    session.signal.removeEventListener("abort", stop);
    stop();
    if (!whole) process.leave();
  }
  const { code } = await process.done;
  if (!whole) {
    throw new Fault("remote-failed", `${host.name} broke off while ${name} was asked to hand a session over`, {
      why: complaint.trim() ? complaint.trim().split("\n").slice(-3) : `the program there ended with ${code}`,
      next: `clm agent doctor ${agent.word}`,
    });
  }
}

function understood({ agent, subject }: Target, line: string): Said {
  const { name, host, word } = agent;
  if (line === "no-user" || line === "stranger") throw notOurs(agent, line);
  if (line === "no-python") {
    throw new Fault("unsupported", `${host.name} has no Python that can ask ${name}`, {
      why: "neither python3 nor the agent's own has the module sqlite3",
      next: `clm host exec ${host.name} --sudo -- apt-get install -y python3`,
    });
  }
  let said: Said;
  try {
    said = JSON.parse(line);
  } catch (error) {
    throw new Fault("remote-failed", `what ${host.name} says of ${name} could not be understood`, { cause: error });
  }
  if (said.unknown !== undefined) throw unknownSession(agent, said.unknown, said.like ?? []);
  if (said.absent) {
    throw new Fault("not-found", `${name} has no session yet`, { next: `clm chat ${word}` });
  }
  if (said.fault) {
    throw new Fault("remote-failed", `the sessions of ${name} cannot be changed on ${host.name}`, {
      why: [said.why ?? said.fault, subject.places.data],
      next: `clm agent doctor ${word}`,
    });
  }
  return said;
}
