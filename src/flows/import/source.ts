import { type Dirent, readdirSync, statSync } from "node:fs";
import { homedir } from "node:os";
import { join, resolve } from "node:path";
import { Fault } from "../../errors.js";
import { resolveConfigDir } from "../../state/config-dir.js";
import { readStateFile } from "../../state/state-file.js";
import { defined } from "../../text/defined.js";
import type { Session } from "../session.js";
import { keyFile } from "./clawrium/convert-fleet.js";
import { type OldFile, oldFiles, type Texts } from "./clawrium/read-fleet.js";

export interface Source extends Texts {
  /** It is clm's directory too, as by default. */
  inPlace: boolean;
  /** Files in clm's own directory that are still Clawrium's, with their text. */
  foreign: Partial<Record<OldFile, string>>;
  /** The backup of an import that was killed; files it had replaced are read from there. */
  resumed?: string;
}

/** Undefined when everything has been imported. */
export function findSource({ configDir, env }: Pick<Session, "configDir" | "env">, from?: string): Source | undefined {
  const directory = resolve(from ?? likelySource(configDir, env));
  const there = textsIn(directory);
  if (there["hosts.json"] === undefined) {
    throw new Fault("not-found", `${directory} has no files of Clawrium's`, {
      why: "it has no hosts.json",
      next: "clm import clawrium --from DIRECTORY",
      data: { directory },
    });
  }
  const inPlace = sameFile(directory, configDir);
  if (!isForeign("hosts.json", there["hosts.json"])) {
    if (inPlace) return undefined;
    throw new Fault("bad-input", `${directory} is a config directory of clm`, {
      why: "its hosts.json was written by clm",
      next: "clm host list",
      data: { directory },
    });
  }
  if (!inPlace) return { directory, inPlace, files: there, foreign: {}, keys: keysIn(directory) };

  const foreign = Object.fromEntries(Object.entries(there).filter(([file, text]) => isForeign(file, text)));
  const resumed = killedImport(configDir, there["hosts.json"]);
  const kept = resumed ? textsIn(resumed) : {};
  const replaced = oldFiles.filter((file) => there[file] !== undefined && foreign[file] === undefined);
  const files = { ...there, ...Object.fromEntries(replaced.map((file) => [file, kept[file] ?? emptied(there[file])])) };
  const source = { directory, inPlace, files, foreign, keys: keysIn(directory) };
  return resumed && replaced.length > 0 ? { ...source, resumed } : source;
}

/** clm's own directory when Clawrium's files are in it; else Clawrium's default. */
function likelySource(configDir: string, env: NodeJS.ProcessEnv): string {
  const own = readStateFile(join(configDir, "hosts.json"), false)?.text;
  if (own !== undefined && isForeign("hosts.json", own)) return configDir;
  const { CLM_HOME: _, ...rest } = env;
  return resolveConfigDir(undefined, rest, env.HOME || homedir());
}

function textsIn(directory: string): Partial<Record<OldFile, string>> {
  const texts = oldFiles.map((file) => [file, readStateFile(join(directory, file), file === "secrets.json")?.text]);
  return defined(Object.fromEntries(texts));
}

/** clm's files hold an object with a version. A file that is not JSON is reported when it is read. */
function isForeign(file: string, text: string): boolean {
  try {
    const value = JSON.parse(text);
    return file === "secrets.json" ? value?.version === undefined : Array.isArray(value) || !value?.version;
  } catch {
    return true;
  }
}

/** A file that clm wrote, in Clawrium's format: secrets are the same, and nothing else is left to import. */
function emptied(text = ""): string | undefined {
  const { version: _, hosts: __, providers, ...secrets } = JSON.parse(text);
  return providers ? undefined : JSON.stringify(secrets);
}

/** Private keys of hosts by key_id. clm's own keys are files, not directories, in the same place. */
export function keysIn(directory: string): Record<string, string> {
  const folders = entriesOf(join(directory, "keys")).filter((entry) => !entry.isFile());
  const keys = folders.map(({ name }) => [name, readStateFile(join(directory, keyFile(name)), true)?.text]);
  return defined(Object.fromEntries(keys));
}

/** The backup is made before the first change, and hosts.json is written last: so both still have the same one. */
function killedImport(configDir: string, hosts: string): string | undefined {
  const backups = join(configDir, "backups");
  return entriesOf(backups)
    .map(({ name }) => name)
    .filter((name) => name.startsWith("clawrium-"))
    .sort()
    .map((name) => join(backups, name))
    .findLast((path) => readStateFile(join(path, "hosts.json"), false)?.text === hosts);
}

function entriesOf(directory: string): Dirent[] {
  try {
    return readdirSync(directory, { withFileTypes: true });
  } catch {
    return [];
  }
}

/** By inode: one path may lead through a symbolic link. */
function sameFile(...paths: [string, string]): boolean {
  const [one, other] = paths.map((path) => statSync(path, { throwIfNoEntry: false }));
  return one !== undefined && one.dev === other?.dev && one.ino === other.ino;
}
