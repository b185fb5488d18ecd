import { type Reply, type Request, requesting } from "../../agents/hermes/handoff/handoff.js";
import { Fault } from "../../errors.js";
import type { Agent } from "../../state/agents.js";
import { askStateDb } from "../agent/run-host-program.js";
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
  const { resolved } = await targetOf(session, `${agent.host.name}/${agent.name}`);
  const way = { verb: "changed", seconds, signal };
  let reply: Reply = {};
  for await (const said of askStateDb<Reply>(session, { agent, resolved }, requesting(asked, resolved.paths), way))
    reply = said;
  if (reply.absent) throw noDatabase(agent);
  if (reply.fault !== undefined) throw refused(agent, reply);
  return reply;
}

const noDatabase = ({ name, ref }: Agent): Fault =>
  new Fault("not-ready", `${name} has no state.db that a conversation could be put into`, {
    why: "the agent makes it itself when it is first talked to; nothing was changed",
    next: `clm chat ${ref} --once hello`,
  });

const refused = ({ name, host, ref }: Agent, { fault, why }: Reply): Fault =>
  new Fault(fault === "unwritable" ? "remote-failed" : "conflict", `the sessions of ${name} could not be changed`, {
    why: why ?? `on ${host.name}`,
    next: `clm agent doctor ${ref}`,
    data: { reason: fault },
  });
