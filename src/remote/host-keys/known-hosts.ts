import { createHmac } from "node:crypto";
import { readFile, stat } from "node:fs/promises";
import { matchesPattern } from "../../text/wildcard.js";
import { type HostKey, parseKey } from "./key.js";

export interface KnownHostsEntry extends HostKey {
  /** As written: a comma list of patterns, or one hashed name. */
  hosts: string;
  marker?: "revoked" | "cert-authority";
  file: string;
  line: number;
}

export interface KnownHosts {
  entries: KnownHostsEntry[];
  /** Invalid lines. OpenSSH ignores them too. */
  ignored: { line: number; why: string }[];
}

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

/** Parses a known_hosts file; `file` is only kept for messages. */
export function parseKnownHosts(text: string, file: string): KnownHosts {
  const known: KnownHosts = { entries: [], ignored: [] };
  for (const [index, raw] of text.split("\n").entries()) {
    const content = raw.trim();
    if (content === "" || content.startsWith("#")) continue;
    const entry = parseLine(content);
    const line = index + 1;
    if (typeof entry === "string") known.ignored.push({ line, why: entry });
    else known.entries.push({ ...entry, file, line });
  }
  return known;
}

function parseLine(line: string): Omit<KnownHostsEntry, "file" | "line"> | string {
  const [, mark, hosts, rest] = /^(?:@(\S*)[ \t]+)?(\S+)(?:[ \t]+(.*))?$/.exec(line) ?? [];
  if (hosts === undefined || rest === undefined) return "there is no key on the line";
  if (mark !== undefined && mark !== "revoked" && mark !== "cert-authority") return `'@${mark}' is not a marker`;
  if (hosts.startsWith("|") && !parseHash(hosts)) return "the hashed name is malformed";
  const key = parseKey(rest);
  if (typeof key === "string") return key;
  return mark === undefined ? { hosts, ...key } : { hosts, ...key, marker: mark };
}

/** The name a host is looked up by: as it is on port 22, `[host]:port` on any other. */
export function lookupName(host: string, port: number): string {
  const name = host.toLowerCase();
  return port === 22 ? name : `[${name}]:${port}`;
}

/** Whether a line's first field means this host. */
export function matches(hosts: string, name: string): boolean {
  const wanted = name.toLowerCase();
  if (hosts.startsWith("|")) return matchesHash(hosts, wanted);
  const patterns = hosts.toLowerCase().split(",");
  // One matching negated pattern excludes the whole line, in any position.
  if (patterns.some((each) => each.startsWith("!") && matchesPattern(each.slice(1), wanted))) return false;
  return patterns.some((each) => !each.startsWith("!") && matchesPattern(each, wanted));
}

function parseHash(hosts: string): { salt: Buffer; hash: string } | undefined {
  const [, salt = "", hash = ""] = /^\|1\|([A-Za-z0-9+/]+=*)\|([A-Za-z0-9+/]+=*)$/.exec(hosts) ?? [];
  const bytes = Buffer.from(salt, "base64");
  // A SHA-1 is 20 bytes, and OpenSSH takes a salt of no other length.
  return bytes.length === 20 && Buffer.from(hash, "base64").length === 20 ? { salt: bytes, hash } : undefined;
}

function matchesHash(hosts: string, name: string): boolean {
  const parsed = parseHash(hosts);
  return parsed !== undefined && createHmac("sha1", parsed.salt).update(name).digest("base64") === parsed.hash;
}
