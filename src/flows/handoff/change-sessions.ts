import type { ChangeReply, ChangeRequest } from "../../agents/handoff/store.js";
import { capability } from "../../agents/type.js";
import { Fault } from "../../errors.js";
import type { Agent } from "../../state/agents.js";
import { runHostProgram } from "../agent/run-host-program.js";
import type { AgentTarget } from "../agent/target.js";
import type { Session } from "../session.js";

// A transcript may be large, and the agent may be writing meanwhile.
const seconds = 300;

/** With the agent's own rights and in one transaction. */
export async function changeSessions(
  session: Pick<Session, "pool" | "signal">,
  target: AgentTarget,
  request: ChangeRequest,
  signal = session.signal,
): Promise<ChangeReply> {
  const { agent, resolved } = target;
  const store = await capability(resolved.manifest, "handoff");
  const program = store.change(request, resolved.paths);
  let reply: ChangeReply = {};
  for await (const answer of runHostProgram<ChangeReply>(session, target, program, {
    verb: "changed",
    seconds,
    signal,
  }))
    reply = answer;
  if (reply.absent) throw noDatabase(agent);
  if (reply.fault !== undefined) throw refused(agent, reply);
  return reply;
}

const noDatabase = ({ name, ref }: Agent): Fault =>
  new Fault("not-ready", `${name} has no session database to write a conversation to`, {
    why: "the agent creates it with its first conversation; nothing was changed",
    next: `clm chat ${ref} --once hello`,
  });

const refused = ({ name, host, ref }: Agent, { fault, why }: ChangeReply): Fault =>
  new Fault(fault === "unwritable" ? "remote-failed" : "conflict", `the sessions of ${name} could not be changed`, {
    why: why ?? `on ${host.name}`,
    next: `clm agent doctor ${ref}`,
    data: { reason: fault },
  });
