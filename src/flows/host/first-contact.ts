import { Fault, isFault } from "../../errors.js";
import { sh } from "../../quote.js";
import { connect } from "../../remote/connect.js";
import type { Connection } from "../../remote/connection.js";
import { UnknownHostKey } from "../../remote/host-keys/faults.js";
import { type HostKey, sameKey } from "../../remote/host-keys/key.js";
import type { Trust } from "../../remote/host-keys/trust.js";
import type { Target } from "../../remote/target/target.js";
import { fingerprint } from "../../text/fingerprint.js";
import type { Session } from "../session.js";

export interface KeyApproval {
  /** `SHA256:…`, from the host's owner: only this key is accepted. */
  fingerprint?: string | undefined;
  /** Accept any key, once; for scripts on a trusted network. */
  acceptNew?: boolean | undefined;
  /** Keys pinned so far: shown beside a new key, and accepted without a question. */
  known?: HostKey[];
}

export interface FirstContact {
  connection: Connection;
  /** Keys approved on the way (jump hosts included), by the name to pin each under. */
  approved: Map<string, HostKey>;
}

/** An unknown key ends the connection before any login; the approved key is then required on a new connection. */
export async function connectFirstTime(
  session: Session,
  target: Target,
  approval: KeyApproval,
  trust: Trust,
): Promise<FirstContact> {
  const approved = new Map<string, HostKey>();
  const { fingerprint: demanded } = approval;
  const otherTypes = ["ecdsa-sha2-nistp256", "ssh-rsa"];
  let trusted = demanded ? trust.demanding(target.name, demanded, "ssh-ed25519") : trust;
  for (;;) {
    try {
      const connection = await connect(target, { ...session.connectOptions, trust: trusted });
      approved.set(target.name, connection.hostKey);
      return { connection, approved };
    } catch (error) {
      const otherType = demanded && isFault(error, "host-key-changed") ? otherTypes.shift() : undefined;
      if (demanded && otherType) {
        // The fingerprint may belong to another of the host's keys.
        trusted = trusted.demanding(target.name, demanded, otherType);
        continue;
      }
      if (!(error instanceof UnknownHostKey) || approved.has(error.alias)) throw error;
      const { alias, key } = error;
      const known = alias === target.name ? (approval.known ?? []) : [];
      const mustAsk = !approval.acceptNew && !known.some((old) => sameKey(old, key));
      if (mustAsk && !session.ui.interactive) {
        // The typed command, completed with the fingerprint.
        const next = sh`clm ${session.argv} --fingerprint ${fingerprint(key.blob)}`;
        throw alias === target.name ? error.with({ next }) : error;
      }
      if (mustAsk) await askApproval(session, alias, key, known);
      approved.set(alias, key);
      trusted = trusted.assuming(alias, key);
    }
  }
}

async function askApproval({ ui }: Session, alias: string, key: HostKey, known: HostKey[]): Promise<void> {
  for (const old of known) ui.note(`pinned for ${alias} so far:\n  ${old.type} ${fingerprint(old.blob)}`);
  ui.note(known.length > 0 ? "its key is now:" : `the key of ${alias} is not known yet:`);
  ui.note(`  ${key.type} ${fingerprint(key.blob)}`);
  const yes = await ui.confirm({ message: "Is this the host's key?", flag: "--fingerprint" });
  if (!yes) throw new Fault("declined", `the key of ${alias} was not trusted`);
}
