import { lstatSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { writeAtomic } from "../../state/atomic-file.js";
import { openSubdirectory } from "../../state/config-dir.js";
import { type Digest, digestOf, sameDigest } from "./bytes.js";

/** `cache/<sha256>`: checked installers. A missing one is fetched again. */
export const cachePath = (configDir: string, sha256: string): string => join(configDir, "cache", sha256);

/** The cached bytes, if their digest is still right. */
export type Kept = { is: "there"; bytes: Buffer } | { is: "damaged" } | { is: "missing" };

export function readCache(configDir: string, pinned: Digest): Kept {
  const path = cachePath(configDir, pinned.sha256);
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (!found) return { is: "missing" };
  if (!found.isFile() || found.size !== pinned.size) return { is: "damaged" };
  const bytes = readFileSync(path);
  return sameDigest(digestOf(bytes), pinned) ? { is: "there", bytes } : { is: "damaged" };
}

export function keepInCache(configDir: string, bytes: Buffer, sha256: string): void {
  openSubdirectory(configDir, "cache");
  writeAtomic(cachePath(configDir, sha256), bytes);
}

export const dropFromCache = (configDir: string, sha256: string): void =>
  rmSync(cachePath(configDir, sha256), { recursive: true, force: true });
