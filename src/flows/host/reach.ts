import { Fault, isFault } from "../../errors.js";
import { fingerprint } from "../../fingerprint.js";
import { sh } from "../../quote.js";
import { connect } from "../../remote/connect.js";
import type { Connection } from "../../remote/connection.js";
import { type HostKey, parsePublicKey, sameKey } from "../../remote/host-keys/key.js";
import type { Trust } from "../../remote/host-keys/trust.js";
import type { Target } from "../../remote/target.js";
import type { Session } from "../session.js";

/** How a host that nobody knows yet may be trusted. */
export interface Introduction {
  /** `SHA256:…`, told by the host's owner: only that key will do. */
  fingerprint?: string | undefined;
  /** Trust whatever key is shown, once; for scripts on a network that is trusted. */
  acceptNew?: boolean | undefined;
  /** Keys it had until now: shown beside a new one, and not asked about again. */
  known?: HostKey[];
}

export interface Introduced {
  connection: Connection;
  /** The keys that were agreed to on the way, by the name they are to be pinned under. */
  agreed: Map<string, HostKey>;
}

/**
 * Connects to a host whose key may be unknown. An unknown key ends the connection before any login; then it is shown
 * and agreed to, and the host is called again with that key expected. So the key that was agreed to is the key that
 * is logged in to, and jump hosts are introduced the same way.
 */
export async function reachNew(session: Session, target: Target, how: Introduction, trust: Trust): Promise<Introduced> {
  const agreed = new Map<string, HostKey>();
  const { fingerprint: demanded } = how;
  const otherTypes = ["ecdsa-sha2-nistp256", "ssh-rsa"];
  let trusted = demanded ? trust.demanding(target.name, demanded, "ssh-ed25519") : trust;
  for (;;) {
    try {
      const connection = await connect(target, { ...session.means, trust: trusted });
      agreed.set(target.name, connection.hostKey);
      return { connection, agreed };
    } catch (error) {
      const otherType = demanded && isFault(error, "host-key-changed") ? otherTypes.shift() : undefined;
      if (demanded && otherType) {
        // The fingerprint may be that of another of the host's keys.
        trusted = trusted.demanding(target.name, demanded, otherType);
        continue;
      }
      if (!isFault(error, "host-key-unknown")) throw error;
      const alias = String(error.data.alias);
      const key = parsePublicKey(String(error.data.offered));
      if (!key || agreed.has(alias)) throw error;
      const known = alias === target.name ? (how.known ?? []) : [];
      const asked = !how.acceptNew && !known.some((old) => sameKey(old, key));
      if (asked && !session.ui.interactive) throw alias === target.name ? withTheAnswer(session, error, key) : error;
      if (asked) await agree(session, alias, key, known);
      agreed.set(alias, key);
      trusted = trusted.assuming(alias, key);
    }
  }
}

/** The command that was typed, with what it lacks. */
function withTheAnswer({ argv }: Session, { fault, message, why, data }: Fault, key: HostKey): Fault {
  const next = sh`clm ${argv} --fingerprint ${fingerprint(key.blob)}`;
  return new Fault(fault, message, { why, next, data });
}

async function agree({ ui }: Session, alias: string, key: HostKey, known: HostKey[]): Promise<void> {
  for (const old of known) ui.note(`pinned for ${alias} until now:\n  ${old.type} ${fingerprint(old.blob)}`);
  ui.note(known.length > 0 ? "it shows now:" : `${alias} shows a key nobody here has seen before:`);
  ui.note(`  ${key.type} ${fingerprint(key.blob)}`);
  const yes = await ui.confirm({ message: "Is this the host's key?", flag: "--fingerprint" });
  if (!yes) throw new Fault("declined", `${alias} was not trusted`);
}
