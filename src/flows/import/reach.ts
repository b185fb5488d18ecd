import { join, relative } from "node:path";
import { inParallel } from "../../async/limit.js";
import { asFault, isFault } from "../../errors.js";
import { connect } from "../../remote/connect.js";
import type { Connection } from "../../remote/connection.js";
import { type Facts, readFacts } from "../../remote/facts.js";
import type { HostKey } from "../../remote/host-keys/key.js";
import type { Target } from "../../remote/target.js";
import type { Host } from "../../state/hosts.js";
import { connectFirstTime, recordedFacts } from "../host/first-contact.js";
import type { Session } from "../session.js";

/** A host that was called, or why it was not reached. */
export interface Called {
  /** With what it said of itself. */
  host: Host;
  /** Keys to pin, by name. */
  agreed: Map<string, HostKey>;
  /** Why it comes without a pinned key. */
  trouble?: { reason: string; fix: string };
}

/**
 * Calls every host as `host add` does: those the user's known_hosts vouches for all at once, then the others one by one,
 * as somebody has to look at each key. A host that cannot be reached is taken over too, and trusted by nobody yet.
 */
export async function callHosts(
  session: Session,
  hosts: Host[],
  { acceptNew, directory }: { acceptNew: boolean; directory: string },
): Promise<Called[]> {
  // Its key is still where Clawrium has it.
  const targetFor = ({ name, address, port, user, identity }: Host): Target => ({
    ...{ name, address, port, user },
    ...(identity && { identity: join(directory, relative(session.configDir, identity)) }),
  });
  const first = await inParallel(hosts, 32, (host) => call(session, host, targetFor(host)));
  const called: Called[] = [];
  for (const [index, each] of first.entries()) {
    const host = hosts[index] as Host;
    const askable = each.unknown && (acceptNew || session.ui.interactive);
    called.push(askable ? await introduce(session, host, targetFor(host), acceptNew) : each);
  }
  return called;
}

async function call(session: Session, host: Host, target: Target): Promise<Called & { unknown?: boolean }> {
  const trust = session.trust.forgetting(host.name);
  try {
    const connection = await connect(target, { ...session.connectOptions, trust });
    return await seen(session, host, connection, new Map([[host.name, connection.hostKey]]));
  } catch (error) {
    return { ...notReached(session, host, error), unknown: isFault(error, "host-key-unknown") };
  }
}

async function introduce(session: Session, host: Host, target: Target, acceptNew: boolean): Promise<Called> {
  try {
    const trust = session.trust.forgetting(host.name);
    const { connection, approved } = await connectFirstTime(session, target, { acceptNew }, trust);
    return await seen(session, host, connection, approved);
  } catch (error) {
    return notReached(session, host, error);
  }
}

async function seen(session: Session, host: Host, connection: Connection, agreed: Map<string, HostKey>) {
  const facts: Facts = await readFacts(connection, session.now, session.signal).finally(() => connection.close());
  return { host: { ...host, sudo: facts.sudo, facts: recordedFacts(facts, session.now()) }, agreed };
}

function notReached({ signal }: Session, host: Host, error: unknown): Called {
  signal.throwIfAborted();
  if (isFault(error, "interrupted")) throw error;
  const { message, who } = asFault(error);
  const trusted = who !== "trust" && !isFault(error, "declined");
  return {
    host,
    agreed: new Map(),
    trouble: { reason: message, fix: `clm host ${trusted ? "check" : "trust"} ${host.name}` },
  };
}
