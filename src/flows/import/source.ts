import { readdirSync, realpathSync } from "node:fs";
import { homedir } from "node:os";
import { join, resolve } from "node:path";
import { Fault } from "../../errors.js";
import { resolveConfigDir } from "../../state/config-dir.js";
import { readStateFile } from "../../state/state-file.js";
import type { Session } from "../session.js";
import { type OldFile, oldFiles, type Texts } from "./clawrium/read.js";
import { keyFile } from "./clawrium/take.js";

/** Clawrium's directory, as it was before anything of it was taken over. */
export interface Source extends Texts {
  /** It is clm's directory too: both use the same one unless they are told otherwise. */
  inPlace: boolean;
  /** Files in clm's own directory that are still Clawrium's, with their text. */
  foreign: Partial<Record<OldFile, string>>;
  /** The backup of an import that was killed: what that one had replaced already is read from there. */
  resumed?: string;
}

/** Nothing when clm took it all over before. */
export function findSource({ configDir, env }: Pick<Session, "configDir" | "env">, from?: string): Source | undefined {
  const directory = resolve(from ?? likelySource(configDir, env));
  const inPlace = samePlace(directory, configDir);
  const there = textsIn(directory);
  if (there["hosts.json"] === undefined) throw nothingThere(directory);
  if (!isForeign("hosts.json", there["hosts.json"])) {
    if (inPlace) return undefined;
    throw ours(directory);
  }
  if (!inPlace) return { directory, inPlace, files: there, foreign: {}, keys: keysIn(directory) };

  const foreign = Object.fromEntries(Object.entries(there).filter(([file, text]) => isForeign(file, text)));
  const resumed = killedImport(configDir, there["hosts.json"]);
  const kept = resumed ? textsIn(resumed) : {};
  const replaced = oldFiles.filter((file) => there[file] !== undefined && foreign[file] === undefined);
  const files = { ...there, ...Object.fromEntries(replaced.map((file) => [file, kept[file] ?? emptied(there[file])])) };
  return {
    ...{ directory, inPlace, files, foreign, keys: keysIn(directory) },
    ...(resumed && replaced.length > 0 && { resumed }),
  };
}

/** Where clm keeps its own state, when that is Clawrium's; else where Clawrium keeps it. */
function likelySource(configDir: string, env: NodeJS.ProcessEnv): string {
  const own = readStateFile(join(configDir, "hosts.json"), false)?.text;
  if (own !== undefined && isForeign("hosts.json", own)) return configDir;
  const { CLM_HOME: _, ...rest } = env;
  return resolveConfigDir(undefined, rest, env.HOME || homedir());
}

function textsIn(directory: string): Partial<Record<OldFile, string>> {
  const texts = oldFiles.map((file) => [file, readStateFile(join(directory, file), file === "secrets.json")?.text]);
  return Object.fromEntries(texts.filter(([, text]) => text !== undefined));
}

/** clm's files hold an object with a version. One that is no JSON may be anybody's: whoever reads it will say so. */
function isForeign(file: string, text: string): boolean {
  try {
    const value = JSON.parse(text);
    return file === "secrets.json" ? value?.version === undefined : Array.isArray(value) || !value?.version;
  } catch {
    return true;
  }
}

/** A file that clm wrote, for who reads Clawrium's: its secrets are the same, and there is nothing else in it to take. */
function emptied(text = ""): string | undefined {
  const { version: _, hosts: __, providers, ...secrets } = JSON.parse(text);
  return providers ? undefined : JSON.stringify(secrets);
}

export function keysIn(directory: string): Record<string, string> {
  const keys: Record<string, string> = {};
  for (const keyId of entriesOf(join(directory, "keys"))) {
    const text = keyIn(join(directory, keyFile(keyId)));
    if (text !== undefined) keys[keyId] = text;
  }
  return keys;
}

/** The key of a host; clm's own keys are files in the same directory, and have none below them. */
function keyIn(path: string): string | undefined {
  try {
    return readStateFile(path, true)?.text;
  } catch (error) {
    if (error instanceof Fault && error.data.errno === "ENOTDIR") return undefined;
    throw error;
  }
}

/** Such a backup is made before the first change, and hosts.json is the last: so it is still the same in both. */
function killedImport(configDir: string, hosts: string): string | undefined {
  const backups = join(configDir, "backups");
  const names = entriesOf(backups).filter((name) => name.startsWith("clawrium-"));
  return names
    .sort()
    .reverse()
    .map((name) => join(backups, name))
    .find((path) => readStateFile(join(path, "hosts.json"), false)?.text === hosts);
}

function entriesOf(directory: string): string[] {
  try {
    return readdirSync(directory);
  } catch {
    return [];
  }
}

function samePlace(one: string, other: string): boolean {
  const real = (path: string) => {
    try {
      return realpathSync(path);
    } catch {
      return resolve(path);
    }
  };
  return real(one) === real(other);
}

const nothingThere = (directory: string): Fault =>
  new Fault("not-found", `there is nothing of Clawrium's in ${directory}`, {
    why: "it has no hosts.json",
    next: "clm import clawrium --from DIRECTORY",
    data: { directory },
  });

const ours = (directory: string): Fault =>
  new Fault("bad-input", `${directory} is a config directory of clm`, {
    why: "its hosts.json was written by clm, or taken over by it already",
    next: "clm host list",
    data: { directory },
  });
