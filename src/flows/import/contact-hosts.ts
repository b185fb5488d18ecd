import { join, relative } from "node:path";
import { inParallel } from "../../async/limit.js";
import { asFault, isFault } from "../../errors.js";
import { connect } from "../../remote/connect.js";
import type { HostKey } from "../../remote/host-keys/key.js";
import type { Host } from "../../state/hosts.js";
import { factsToRecord } from "../host/facts-to-record.js";
import { connectFirstTime, type FirstContact } from "../host/first-contact.js";
import type { Session } from "../session.js";

export interface ContactedHost {
  host: Host;
  /** Keys to pin, by name. */
  approved: Map<string, HostKey>;
  /** Why it has no pinned key. */
  trouble?: { reason: string; fix: string };
}

/**
 * Contacts every host as `host add` does: those that the user's known_hosts trusts all at once, then the others one by
 * one, because a person has to approve each key. An unreachable host is imported too, without a pinned key.
 */
export async function contactHosts(
  session: Session,
  hosts: Host[],
  { acceptNew, directory }: { acceptNew: boolean; directory: string },
): Promise<ContactedHost[]> {
  const unknown = new Set<Host>();

  async function contact(host: Host, firstTime: boolean): Promise<ContactedHost> {
    const { name, address, port, user, identity } = host;
    // Its key is still where Clawrium has it.
    const file = identity && join(directory, relative(session.configDir, identity));
    const target = { name, address, port, user, identity: file };
    const trust = session.trust.forgetting(name);
    const knownHost = async (): Promise<FirstContact> => {
      const connection = await connect(target, { ...session.connectOptions, trust });
      return { connection, approved: new Map([[name, connection.hostKey]]) };
    };
    try {
      const introduced = firstTime ? connectFirstTime(session, target, { acceptNew }, trust) : knownHost();
      const { connection, approved } = await introduced;
      const facts = await factsToRecord(session, connection).finally(() => connection.close());
      return { host: { ...host, ...facts }, approved };
    } catch (error) {
      if (isFault(error, "host-key-unknown")) unknown.add(host);
      return { host, approved: new Map(), trouble: troubleFrom(session, name, error) };
    }
  }

  const first = await inParallel(hosts, 32, (host) => contact(host, false));
  const contacted: ContactedHost[] = [];
  for (const each of first) {
    const askable = unknown.has(each.host) && (acceptNew || session.ui.interactive);
    contacted.push(askable ? await contact(each.host, true) : each);
  }
  return contacted;
}

function troubleFrom({ signal }: Session, host: string, error: unknown): { reason: string; fix: string } {
  signal.throwIfAborted();
  if (isFault(error, "interrupted")) throw error;
  const { message, who } = asFault(error);
  const untrusted = who === "trust" || isFault(error, "declined");
  return { reason: message, fix: `clm host ${untrusted ? "trust" : "check"} ${host}` };
}
