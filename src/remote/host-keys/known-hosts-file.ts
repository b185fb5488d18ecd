import { readFile, stat } from "node:fs/promises";
import { type KnownHosts, parseKnownHosts } from "./known-hosts.js";

// A command may ask about a thousand hosts and all look in the same files, so a file is parsed again only when it changed.
const parsed = new Map<string, { version: string; known: Promise<KnownHosts> }>();

/** Reads a known_hosts file, and only ever reads it. A missing one is empty; any other trouble is thrown as it comes. */
export async function readKnownHosts(path: string): Promise<KnownHosts> {
  const version = await versionOf(path);
  if (version === undefined) return { entries: [], ignored: [] };
  const before = parsed.get(path);
  if (before?.version === version) return before.known;
  const known = readFile(path, "utf8").then((text) => parseKnownHosts(text, path));
  parsed.set(path, { version, known });
  // What failed once may have been mended since.
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
