import { existsSync, readFileSync } from "node:fs";
import { utils } from "ssh2";
import { Fault } from "../errors.js";
import { quote } from "../quote.js";
import { writeAtomic } from "../state/atomic-file.js";
import { openSubdirectory } from "../state/config-dir.js";
import { withLock } from "../state/lock.js";
import { keyPath, type OwnKey } from "./keypath.js";

export interface KeyPair {
  /** Path of the private key. */
  identity: string;
  /** The line for a host's authorized_keys. */
  publicKey: string;
}

/** One of clm's own SSH keys, created on first use. */
export async function keyPair(configDir: string, name: OwnKey): Promise<KeyPair> {
  const identity = keyPath(configDir, name);
  openSubdirectory(configDir, "keys");
  return withLock(configDir, "keys", { what: "clm init" }, () => {
    if (!existsSync(identity)) {
      writeAtomic(identity, newPrivateKey(name), { mode: 0o600 });
    }
    // Derived from the private key, which is never replaced: hosts may know it already.
    const publicKey = publicHalf(identity, name);
    if (!existsSync(`${identity}.pub`)) writeAtomic(`${identity}.pub`, `${publicKey}\n`, { mode: 0o600 });
    return { identity, publicKey };
  });
}

/** One of 256 keys from ssh2 is unreadable: it drops a leading zero of the public half (seen with 1.17). */
export function newPrivateKey(comment: string): string {
  for (;;) {
    const made = utils.generateKeyPairSync("ed25519", { comment }).private;
    if (!(utils.parseKey(made) instanceof Error)) return made;
  }
}

function publicHalf(identity: string, comment: string): string {
  const key = utils.parseKey(readFileSync(identity));
  if (!(key instanceof Error)) return `${key.type} ${key.getPublicSSH().toString("base64")} ${comment}`;
  throw new Fault("state-corrupt", `${identity} is not a key`, { why: key.message, next: `ls -l ${quote(identity)}` });
}
