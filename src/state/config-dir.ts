import { accessSync, chmodSync, constants, mkdirSync, readdirSync, type Stats, statSync } from "node:fs";
import { dirname, isAbsolute, join, resolve } from "node:path";
import { Fault } from "../errors.js";
import { quote } from "../quote.js";
import { cannotWrite, errnoOf } from "./disk-fault.js";

/** The config directory: `--config-dir`, else `$CLM_HOME`, else `$XDG_CONFIG_HOME/clawrium`, else `~/.config/clawrium`. */
export function resolveConfigDir(flag: string | undefined, env: NodeJS.ProcessEnv, home: string): string {
  const chosen = flag || env.CLM_HOME;
  if (chosen) return resolve(chosen);
  const xdg = env.XDG_CONFIG_HOME;
  // The XDG specification: a relative path is invalid and must be ignored.
  return join(xdg && isAbsolute(xdg) ? xdg : join(home, ".config"), "clawrium");
}

/**
 * Refuses a config directory of another user, even for reading: it decides which hosts are trusted, where secrets are
 * sent, and which programs (`cmd:`) run with our rights.
 */
export function mustBeOurs(root: string, user = process.geteuid?.(), env = process.env): void {
  const stat = statSync(root, { throwIfNoEntry: false });
  if (!stat || user === undefined || isOurs(stat, user, env)) return;
  throw new Fault("state-exposed", `${root} belongs to another user`, {
    why: `its owner has the user id ${stat.uid}, and clm runs as ${user}`,
    next: user === 0 ? "the same command without sudo" : "clm init --config-dir DIR   # and name it in $CLM_HOME",
    data: { path: root, owner: stat.uid },
  });
}

/** Includes the user behind sudo: `sudo clm lab up --config-dir ~/.config/clawrium` adds hosts to their fleet. */
export const isOurs = ({ uid }: Pick<Stats, "uid">, user: number, env: NodeJS.ProcessEnv): boolean =>
  uid === user || (user === 0 && env.SUDO_UID === `${uid}`);

/** Whether anyone besides the owner and our own group can change it. */
export const writableByOthers = ({ mode, gid }: Pick<Stats, "mode" | "gid">, group = process.getegid?.()): boolean =>
  (mode & 0o002) !== 0 || ((mode & 0o020) !== 0 && gid !== group);

/** Makes the directory, private (0700); throws if not writable. To commands that only read, none is an empty fleet. */
export function openConfigDir(root: string): string {
  try {
    make(root);
    accessSync(root, constants.W_OK | constants.X_OK);
    if (statSync(root).mode & 0o077) closeToOthers(root);
    return root;
  } catch (error) {
    throw cannotWrite(root, root, error);
  }
}

export function openSubdirectory(root: string, name: string): string {
  openConfigDir(root);
  const path = join(root, name);
  try {
    make(path);
    return path;
  } catch (error) {
    throw cannotWrite(path, root, error);
  }
}

/** None when the directory is missing or cannot be read. */
export function namesIn(directory: string): string[] {
  try {
    return readdirSync(directory);
  } catch {
    return [];
  }
}

// Not `recursive`: on a read-only file system Node 20 reports that as ENOENT.
function make(path: string): void {
  try {
    mkdirSync(path, { mode: 0o700 });
    chmodSync(path, 0o700);
  } catch (error) {
    const code = errnoOf(error);
    if (code === "EEXIST" && statSync(path).isDirectory()) return;
    if (code !== "ENOENT" || dirname(path) === path) throw error;
    make(dirname(path));
    make(path);
  }
}

// Earlier versions made `operations`.
const ours = new Set([
  "hosts.json",
  "secrets.json",
  "providers.json",
  "audit.jsonl",
  "known_hosts",
  "locks",
  "operations",
]);

// `--config-dir .` must not change the mode of a directory that is used for something else.
function closeToOthers(root: string): void {
  const names = readdirSync(root);
  if (names.length === 0 || names.some((name) => ours.has(name))) {
    chmodSync(root, 0o700);
    return;
  }
  throw new Fault("bad-input", `${root} is not a config directory of clm`, {
    why: "other users can read it, and it contains files but none of clm's",
    next: `clm init --config-dir ${quote(join(root, "clawrium"))}`,
  });
}
