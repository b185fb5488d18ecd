import type { Connection } from "../../remote/connection.js";
import { readFacts } from "../../remote/facts.js";
import type { Host } from "../../state/hosts.js";
import type { Session } from "../session.js";

/** The facts worth recording: those that outlive the moment, and when they were read. */
export async function factsToRecord(session: Session, connection: Connection): Promise<Pick<Host, "sudo" | "facts">> {
  const facts = await readFacts(connection, session.now, session.signal);
  const { user, sudo, memory_free_mb, system_state, clock_ahead, ...lasting } = facts;
  return { sudo, facts: { ...lasting, seen_at: session.now().toISOString() } };
}
