import type { HostKey } from "./key.js";

// Best first. `ssh-rsa` is left out: it signs with SHA-1. An RSA key serves under both SHA-2 names.
const offered = [
  { type: "ssh-ed25519", algorithms: ["ssh-ed25519"] },
  { type: "ecdsa-sha2-nistp256", algorithms: ["ecdsa-sha2-nistp256"] },
  { type: "ecdsa-sha2-nistp384", algorithms: ["ecdsa-sha2-nistp384"] },
  { type: "ecdsa-sha2-nistp521", algorithms: ["ecdsa-sha2-nistp521"] },
  { type: "ssh-rsa", algorithms: ["rsa-sha2-512", "rsa-sha2-256"] },
] as const;

export type HostKeyAlgorithm = (typeof offered)[number]["algorithms"][number];

/**
 * The order in which to ask a host for its key, so that it shows the type we know it by. A host has a key of each type
 * and shows the first one asked for, so without this a host pinned by RSA would look changed.
 */
export function preferredAlgorithms(known: readonly Pick<HostKey, "type">[]): HostKeyAlgorithm[] {
  const types = new Set(known.map((key) => key.type));
  const first = offered.filter((o) => types.has(o.type));
  const rest = offered.filter((o) => !types.has(o.type));
  return [...first, ...rest].flatMap((o) => o.algorithms);
}
