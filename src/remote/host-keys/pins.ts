import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { Fault } from "../../errors.js";
import { quote } from "../../quote.js";
import { writeAtomic } from "../../state/atomic-file.js";
import { withLock } from "../../state/lock.js";
import { formatKey, type HostKey, parsePublicKey } from "./key.js";
import { type KnownHosts, type KnownHostsEntry, matches, parseKnownHosts, readKnownHosts } from "./known-hosts.js";

/**
 * Our own known_hosts: the keys we pinned, one `<alias> <type> <base64>` per line. The alias is the host's name, or the
 * address of a jump host as OpenSSH would write it. OpenSSH can use the file too:
 * `ssh -o HostKeyAlias=NAME -o UserKnownHostsFile=<config dir>/known_hosts`.
 */
const pinsPath = (configDir: string) => join(configDir, "known_hosts");

/** The keys pinned for an alias. Throws for an invalid file: it vouches for no host. */
export async function readPins(configDir: string, alias: string): Promise<KnownHostsEntry[]> {
  return (await readAll(configDir)).entries.filter((entry) => pins(entry, alias));
}

/** Keys our own file revokes for an alias. clm writes no such lines, but a user may. */
export async function readRevoked(configDir: string, alias: string): Promise<KnownHostsEntry[]> {
  return (await readAll(configDir)).entries.filter(
    (entry) => entry.marker === "revoked" && matches(entry.hosts, alias),
  );
}

/** Makes `key` the one key of an alias. */
export async function pin(configDir: string, alias: string, key: HostKey): Promise<void> {
  const line = pinLine(alias, key);
  await edit(configDir, (file) => [...file.without(alias), line]);
}

export async function unpin(configDir: string, alias: string): Promise<void> {
  await edit(configDir, (file) => file.without(alias));
}

export async function copyPin(configDir: string, from: string, to: string): Promise<void> {
  await edit(configDir, (file) => {
    const copied = file.known.entries.filter((entry) => pins(entry, from)).map((entry) => pinLine(to, entry));
    return copied.length === 0 ? file.lines : [...file.without(to), ...copied];
  });
}

interface PinsFile {
  lines: string[];
  known: KnownHosts;
  /** All lines except pins of this alias; comments and other lines stay. */
  without(alias: string): string[];
}

async function edit(configDir: string, change: (file: PinsFile) => string[]): Promise<void> {
  await withLock(configDir, "known_hosts", { what: "clm host" }, async (lock) => {
    const path = pinsPath(configDir);
    const text = await readFile(path, "utf8").catch((error: NodeJS.ErrnoException) => {
      if (error.code === "ENOENT") return "";
      throw unreadable(path, error);
    });
    const known = mustBeOurs(path, parseKnownHosts(text, path));
    const lines = text === "" ? [] : text.replace(/\n$/, "").split("\n");
    const without = (alias: string) =>
      lines.filter((_, index) => !known.entries.some((entry) => entry.line === index + 1 && pins(entry, alias)));
    const after = change({ lines, known, without });
    // Pinning a pinned key only moves its line: not worth a write.
    if (after.toSorted().join("\n") === lines.toSorted().join("\n")) return;
    writeAtomic(path, after.map((line) => `${line}\n`).join(""), { beforeRename: lock.mustBeMine });
  });
}

async function readAll(configDir: string): Promise<KnownHosts> {
  const path = pinsPath(configDir);
  const known = await readKnownHosts(path).catch((error) => {
    throw unreadable(path, error);
  });
  return mustBeOurs(path, known);
}

const pins = (entry: KnownHostsEntry, alias: string) =>
  entry.marker === undefined && entry.hosts.toLowerCase() === alias.toLowerCase();

// A pin has one plain name: a list or a pattern would not say which host it is for.
const plainAlias = /^[^\s,*?!|#@]+$/;

function pinLine(alias: string, key: HostKey): string {
  const line = formatKey(key);
  if (!plainAlias.test(alias) || !parsePublicKey(line)) {
    throw new Fault("bug", `cannot pin ${line} for '${alias}'`, { why: "OpenSSH could not read that line back" });
  }
  return `${alias.toLowerCase()} ${line}`;
}

function mustBeOurs(path: string, known: KnownHosts): KnownHosts {
  const odd = known.entries.find((entry) => entry.marker === undefined && !plainAlias.test(entry.hosts));
  const bad = known.ignored[0] ?? (odd && { line: odd.line, why: `'${odd.hosts}' is not one plain name` });
  if (!bad) return known;
  throw new Fault("state-corrupt", `${path} cannot be trusted: line ${bad.line} is not a pin`, {
    why: [
      bad.why,
      "clm does not guess which host key was meant, so no host is trusted until the line is fixed or removed",
    ],
    next: `sed -i ${bad.line}d ${quote(path)}`,
    data: { path, line: bad.line },
  });
}

function unreadable(path: string, error: Error): Fault {
  return new Fault("state-corrupt", `${path} cannot be read`, {
    why: [error.message, "without it no host's key can be checked"],
    next: `ls -l ${quote(path)}`,
    data: { path },
    cause: error,
  });
}
