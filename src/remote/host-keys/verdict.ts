import { type HostKey, sameKey } from "./key.js";
import type { KnownHostsEntry } from "./known-hosts.js";

/** A host's keys in the user's known_hosts files. */
export interface UserEntries {
  readonly keys: KnownHostsEntry[];
  readonly revoked: KnownHostsEntry[];
}

export interface Evidence {
  /** Our own entries for the host's alias; a key without a file was only just approved. */
  pins: readonly (HostKey | KnownHostsEntry)[];
  known: UserEntries;
  offered: HostKey;
}

/** `where` and `by`: our own pins, or the known_hosts files OpenSSH uses. */
export type HostKeyVerdict =
  | { kind: "trusted"; by: "clm" | "user" }
  | { kind: "unknown"; offered: HostKey }
  | { kind: "changed"; offered: HostKey; where: "clm"; expected: HostKey[] }
  | { kind: "changed"; offered: HostKey; where: "user"; expected: KnownHostsEntry[] }
  | { kind: "revoked"; offered: HostKey; where: "clm" | "user"; entry: KnownHostsEntry };

export type Distrust = Exclude<HostKeyVerdict, { kind: "trusted" }>;

/**
 * Judges the key a host shows. A revocation anywhere wins. Once we have a pin, only pins vouch. Without one the user's
 * files vouch or contradict; a host they know by another type of key counts as changed, as it does for OpenSSH.
 */
export function verdict({ pins, known, offered }: Evidence): HostKeyVerdict {
  const isOffered = (key: HostKey) => sameKey(key, offered);

  const ours = pins.find((pin): pin is KnownHostsEntry => markerOf(pin) === "revoked" && isOffered(pin));
  if (ours) return { kind: "revoked", offered, where: "clm", entry: ours };
  const theirs = known.revoked.find(isOffered);
  if (theirs) return { kind: "revoked", offered, where: "user", entry: theirs };

  const pinned = pins.filter((pin) => markerOf(pin) === undefined);
  if (pinned.some(isOffered)) return { kind: "trusted", by: "clm" };
  if (pinned.length > 0) return { kind: "changed", offered, where: "clm", expected: pinned };

  if (known.keys.some(isOffered)) return { kind: "trusted", by: "user" };
  if (known.keys.length > 0) return { kind: "changed", offered, where: "user", expected: known.keys };
  return { kind: "unknown", offered };
}

const markerOf = (key: HostKey | KnownHostsEntry) => ("marker" in key ? key.marker : undefined);
