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

/** An SSH key of clm's own, made the first time it is asked for. */
export async function keyPair(configDir: string, name: OwnKey): Promise<KeyPair> {
  const identity = keyPath(configDir, name);
  openSubdirectory(configDir, "keys");
  return withLock(configDir, "keys", { what: "clm init" }, () => {
    if (!existsSync(identity)) {
      writeAtomic(identity, newPrivateKey(name), { mode: 0o600 });
    }
    // The public half is always that of the private one, which hosts may know already and which is never made anew.
    const publicKey = publicHalf(identity, name);
    if (!existsSync(`${identity}.pub`)) writeAtomic(`${identity}.pub`, `${publicKey}\n`, { mode: 0o600 });
    return { identity, publicKey };
  });
}

/** Of 256 keys that ssh2 makes one cannot be read: it drops the zero that its public half begins with (seen with 1.17). */
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
