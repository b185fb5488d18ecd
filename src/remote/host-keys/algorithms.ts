import type { HostKey } from "./key.js";

// Best first. `ssh-rsa` is left out: it signs with SHA-1. An RSA key serves under both SHA-2 names.
const algorithms = [
  "ssh-ed25519",
  "ecdsa-sha2-nistp256",
  "ecdsa-sha2-nistp384",
  "ecdsa-sha2-nistp521",
  "rsa-sha2-512",
  "rsa-sha2-256",
] as const;

const keyTypeOf = (algorithm: string): string => (algorithm.startsWith("rsa-") ? "ssh-rsa" : algorithm);

/** Known key types first: a host shows the first type asked for, so one pinned by RSA would otherwise look changed. */
export function preferredAlgorithms(known: readonly Pick<HostKey, "type">[]): (typeof algorithms)[number][] {
  const isKnown = (algorithm: string) => known.some(({ type }) => type === keyTypeOf(algorithm));
  return [...algorithms.filter(isKnown), ...algorithms.filter((each) => !isKnown(each))];
}
