import { lstatSync } from "node:fs";
import { basename, join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { Fault } from "../errors.js";
import { quote } from "../quote.js";
import { writeAtomic } from "./atomic-file.js";
import { copyAsBackup, dropBackups, keepBackup, keepOldVersion, newestGoodBackup } from "./backups.js";
import { openSubdirectory } from "./config-dir.js";
import { type LockOptions, withLock } from "./lock.js";
import { objectionText, type Shape } from "./shape.js";
import { identityOf, readStateFile } from "./state-file.js";
import { InvalidContent, ListContent, type Migration, migrateTo, parseObject } from "./versions.js";

export interface StoreSpec<T> {
  /** The config directory. */
  dir: string;
  /** The file's name in it: `hosts.json`. */
  file: string;
  /** The version this clm writes. It stands in the file as `"version"`, beside the content. */
  version: number;
  /** What the content must be. What it does not know is kept as it is. */
  shape: Shape<T>;
  empty: () => T;
  /** `migrations[n]` brings version n to n + 1. A file without a version is version 0, where there is a migration for it. */
  migrations?: Record<number, Migration>;
  /** Refuse to work with the file while others can read it. */
  secret?: boolean;
  lock?: LockOptions;
}

export interface Store<T> {
  readonly path: string;
  /** What is in the file now, or what an empty one would hold. Creates nothing. */
  read(): T;
  /**
   * Reads, and writes what `change` makes of the content, all under the file's lock. Nothing is written when nothing
   * changed or `change` throws. Gives back the new content. With `forget`, what was taken out is gone from the backups too.
   */
  update(change: (content: T) => T, options?: { forget?: boolean }): Promise<T>;
  /** Puts `content` in the place of a file of Clawrium's that still reads `foreign`. Whoever calls it has kept a copy. */
  takeOver(content: T, foreign: string): Promise<void>;
}

interface Snapshot<T> {
  content: T;
  /** The version found in the file; undefined when there is no file. */
  found?: number;
  identity: string;
  text: string;
}

/** A file of JSON that is never half-written, never lost and never misread. */
export function jsonStore<T extends object>(spec: StoreSpec<T>): Store<T> {
  const { dir, file, version, shape } = spec;
  const path = join(dir, file);
  const backupDirectory = join(dir, "backups");

  function load(from = path): Snapshot<T> {
    const found = readStateFile(from, spec.secret ?? false);
    if (!found) return { content: spec.empty(), identity: identityOf(undefined), text: "" };
    const { from: foundVersion, content } = migrateTo(parseObject(found.text), version, spec.migrations ?? {});
    if (foundVersion > version) throw newer(from, foundVersion, version);
    const objection = shape.objection(content);
    if (objection) throw new InvalidContent(objectionText(objection));
    return { ...found, content: content as T, found: foundVersion };
  }

  function loadOrExplain(): Snapshot<T> {
    try {
      return load();
    } catch (error) {
      if (!(error instanceof InvalidContent)) throw error;
      if (error instanceof ListContent && ofClawrium.includes(file)) throw clawriums(path, dir);
      throw corrupt(path, error, newestGoodBackup(backupDirectory, file, isGood));
    }
  }

  function isGood(backup: string): boolean {
    try {
      return load(backup).found !== undefined;
    } catch {
      return false;
    }
  }

  const serialise = (content: T): string => `${JSON.stringify({ version, ...content }, null, 2)}\n`;

  return {
    path,
    read: () => loadOrExplain().content,
    async update(change, { forget = false } = {}) {
      return withLock(dir, basename(file, ".json"), spec.lock ?? {}, (lock) => {
        const { content, found, identity, text } = loadOrExplain();
        const changed = change(content);
        const after = serialise(changed);
        if (after === text) return changed;
        // Mostly the parts that did not change are the same objects, and this is quick. If it finds no difference, the
        // content was altered in place, or it is the same and only laid out differently in the file.
        if (isDeepStrictEqual(changed, content) && after === serialise(load().content)) return changed;
        const objection = shape.objection(changed);
        if (objection) throw wouldBreak(path, objectionText(objection));
        writeAtomic(path, after, {
          beforeRename() {
            if (forget) dropBackups(backupDirectory, file);
            else if (found !== undefined) {
              openSubdirectory(dir, "backups");
              if (found !== version) keepOldVersion(path, backupDirectory, file, found);
              keepBackup(path, backupDirectory, file);
            }
            lock.mustBeMine();
            // An editor takes no lock. What it saved meanwhile is not ours to overwrite.
            if (identityOf(lstatSync(path, { throwIfNoEntry: false })) !== identity) throw editedMeanwhile(path);
          },
        });
        if (forget) copyAsBackup(path, openSubdirectory(dir, "backups"), file);
        return changed;
      });
    },
    async takeOver(content, foreign) {
      const objection = shape.objection(content);
      if (objection) throw wouldBreak(path, objectionText(objection));
      await withLock(dir, basename(file, ".json"), spec.lock ?? {}, (lock) =>
        writeAtomic(path, serialise(content), {
          beforeRename() {
            lock.mustBeMine();
            if (readStateFile(path, spec.secret ?? false)?.text !== foreign) throw editedMeanwhile(path);
          },
        }),
      );
    },
  };
}

const ofClawrium = ["hosts.json", "providers.json"];

const clawriums = (path: string, dir: string) =>
  new Fault("state-corrupt", `${path} is Clawrium's`, {
    why: "it holds a list, as Clawrium writes it; it was left as it is",
    next: `clm import clawrium --config-dir ${quote(dir)}`,
    data: { path, reason: "clawrium" },
  });

function corrupt(path: string, { message: reason }: InvalidContent, backup: string | undefined): Fault {
  return new Fault("state-corrupt", `${path} cannot be read as what it should be`, {
    why: backup ? reason : [reason, "there is no good backup of it"],
    next: backup ? `cp ${quote(backup)} ${quote(path)}` : `\${EDITOR:-vi} ${quote(path)}`,
    data: { path, reason, backup },
  });
}

const newer = (path: string, found: number, known: number) =>
  new Fault("state-newer", `${path} was written by a newer clm`, {
    why: `it has version ${found}, and this clm knows up to ${known}; it was left as it is`,
    next: "the same command with the newer clm, or with another --config-dir",
    data: { path, found, known },
  });

const wouldBreak = (path: string, reason: string) =>
  new Fault("bug", `clm was about to write something wrong to ${path}`, {
    why: `${reason}; the file was left as it is`,
  });

const editedMeanwhile = (path: string) =>
  new Fault("locked", `${path} was changed by something else just now`, {
    why: "clm had read it before that change, and left it as it is",
    next: "the same command again",
  });
