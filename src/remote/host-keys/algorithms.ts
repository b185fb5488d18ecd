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

/** Known key types first: a host shows the first type asked for, so one pinned by RSA would otherwise look changed. */
export function preferredAlgorithms(known: readonly Pick<HostKey, "type">[]): HostKeyAlgorithm[] {
  const types = new Set(known.map((key) => key.type));
  const first = offered.filter((o) => types.has(o.type));
  const rest = offered.filter((o) => !types.has(o.type));
  return [...first, ...rest].flatMap((o) => o.algorithms);
}
