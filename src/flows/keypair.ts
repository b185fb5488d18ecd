import { readFile } from "node:fs/promises";
import { utils } from "ssh2";
import { writeAtomic } from "../state/atomic-file.js";
import { openSubdirectory } from "../state/config-dir.js";
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
  const known = await readFile(`${identity}.pub`, "utf8").catch(() => undefined);
  if (known) return { identity, publicKey: known.trim() };
  openSubdirectory(configDir, "keys");
  const pair = utils.generateKeyPairSync("ed25519", { comment: name });
  writeAtomic(identity, pair.private, { mode: 0o600 });
  // The public half comes last: while it is missing, the pair is made again.
  writeAtomic(`${identity}.pub`, `${pair.public}\n`, { mode: 0o600 });
  return { identity, publicKey: pair.public };
}
