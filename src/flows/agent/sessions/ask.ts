import type { Row } from "../../../agents/hermes/sessions/session.js";
import { asking, type Question } from "../../../agents/hermes/sessions/sessions.js";
import type { Told } from "../../../agents/hermes/state-db/program.js";
import { Fault } from "../../../errors.js";
import type { Agent } from "../../../state/agents.js";
import { hideSecrets } from "../../hide-secrets.js";
import type { Session } from "../../session.js";
import { askStateDb } from "../run-host-program.js";
import { targetOf } from "../target.js";

/** One line of what the host answered. */
export interface Answer {
  session?: Row;
  messages?: Row[];
  earlier?: Row[];
  hit?: Row;
}

// A fleet's whole history may be large, and a line slow.
const seconds = 600;

/** Asks an agent for its sessions. Nothing is changed. */
export async function* askSessions(session: Session, ref: string, question: Question): AsyncGenerator<Answer> {
  // What people and tools said may hold any of them.
  hideSecrets(session);
  const target = await targetOf(session, ref);
  const { agent, resolved } = target;
  const way = { verb: "read", seconds, signal: session.signal };
  for await (const said of askStateDb<Answer & Told>(session, target, asking(question, resolved.paths), way)) {
    if (said.fault !== undefined) throw unreadable(agent, said.fault, said.why ?? "");
    if (!said.absent) yield said;
  }
}

function unreadable({ name, host, ref }: Agent, fault: string, why: string): Fault {
  if (fault === "busy") {
    return new Fault("conflict", `the sessions of ${name} changed while they were read`, {
      why,
      next: "the same command again",
    });
  }
  return new Fault("remote-failed", `the sessions of ${name} cannot be read on ${host.name}`, {
    why: [why, ...(fault === "unshared" ? ["the agent makes it anew when it starts"] : [])],
    next: fault === "unshared" ? `clm agent start ${ref}` : `clm agent doctor ${ref}`,
  });
}
