import type { ChangeReply, ChangeRequest } from "../../agents/handoff/store.js";
import { capability } from "../../agents/type.js";
import { Fault } from "../../errors.js";
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
  const { resolved } = target;
  const { name, host, ref } = target.agent;
  const store = await capability(resolved.manifest, "handoff");
  const program = store.change(request, resolved.paths);
  let reply: ChangeReply = {};
  for await (const answer of runHostProgram<ChangeReply>(session, target, program, {
    verb: "changed",
    seconds,
    signal,
  }))
    reply = answer;
  const { absent, fault, why } = reply;
  if (absent) {
    throw new Fault("not-ready", `${name} has no session database to write a conversation to`, {
      why: "the agent creates it with its first conversation; nothing was changed",
      next: `clm chat ${ref} --once hello`,
    });
  }
  if (fault !== undefined) {
    const kind = fault === "unwritable" ? "remote-failed" : "conflict";
    throw new Fault(kind, `the sessions of ${name} could not be changed`, {
      why: why ?? `on ${host.name}`,
      next: `clm agent doctor ${ref}`,
      data: { reason: fault },
    });
  }
  return reply;
}
