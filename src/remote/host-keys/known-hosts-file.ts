import { readFile, stat } from "node:fs/promises";
import { type KnownHosts, parseKnownHosts } from "./known-hosts.js";

// A command may check a thousand hosts against the same files: a file is parsed again only when it has changed.
const parsed = new Map<string, { version: string; known: Promise<KnownHosts> }>();

/** Reads a known_hosts file. A missing one is empty; other errors are thrown. */
export async function readKnownHosts(path: string): Promise<KnownHosts> {
  const version = await versionOf(path);
  if (version === undefined) return { entries: [], ignored: [] };
  const before = parsed.get(path);
  if (before?.version === version) return before.known;
  const known = readFile(path, "utf8").then((text) => parseKnownHosts(text, path));
  parsed.set(path, { version, known });
  // Do not cache a failure: the file may be fixed by the next read.
  known.catch(() => parsed.delete(path));
  return known;
}

async function versionOf(path: string): Promise<string | undefined> {
  try {
    const { dev, ino, size, mtimeNs, ctimeNs } = await stat(path, { bigint: true });
    return [dev, ino, size, mtimeNs, ctimeNs].join(":");
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ENOTDIR") return undefined;
    throw error;
  }
}
