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
  dir: string;
  file: string;
  /** The version this clm writes, as `"version"` beside the content. */
  version?: number;
  /** Checks the content. Unknown members are kept. */
  shape: Shape<T>;
  empty: () => NoInfer<T>;
  /** `migrations[n]` converts version n to n + 1. A file without a version is version 0 if there is a `migrations[0]`. */
  migrations?: Record<number, Migration>;
  /** Refuse the file while others can read it. */
  secret?: boolean;
  lock?: LockOptions;
}

export interface Store<T> {
  readonly path: string;
  /** The current content, or the empty one. Creates nothing. */
  read(): T;
  /** Changes the content under the file's lock, if it differs. `forget` drops removed content from the backups too. */
  update(change: (content: T) => T, options?: { forget?: boolean }): Promise<T>;
  /** Replaces a file of Clawrium's whose text is still `foreign`. The caller has made a backup. */
  replaceForeign(content: T, foreign: string): Promise<void>;
}

interface Snapshot<T> {
  content: T;
  /** The version found in the file; undefined when there is no file. */
  found?: number;
  identity: string;
  text: string;
}

/** A JSON file with a version, a lock, atomic writes and backups. */
export function jsonStore<T extends object>(spec: StoreSpec<T>): Store<T> {
  const { dir, file, version = 1, shape } = spec;
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

  function mustBeValid(content: T): void {
    const objection = shape.objection(content);
    if (objection) throw wouldBreak(path, objectionText(objection));
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
        // Quick, because unchanged parts are mostly the same objects. No difference means that the content was changed in
        // place, or that only the layout of the file differs.
        if (isDeepStrictEqual(changed, content) && after === serialise(load().content)) return changed;
        mustBeValid(changed);
        writeAtomic(path, after, {
          beforeRename() {
            if (forget) dropBackups(backupDirectory, file);
            else if (found !== undefined) {
              openSubdirectory(dir, "backups");
              if (found !== version) keepOldVersion(path, backupDirectory, file, found);
              keepBackup(path, backupDirectory, file);
            }
            lock.mustBeMine();
            // An editor takes no lock: do not overwrite what it saved meanwhile.
            if (identityOf(lstatSync(path, { throwIfNoEntry: false })) !== identity) throw editedMeanwhile(path);
          },
        });
        if (forget) copyAsBackup(path, openSubdirectory(dir, "backups"), file);
        return changed;
      });
    },
    async replaceForeign(content, foreign) {
      mustBeValid(content);
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
  new Fault("state-corrupt", `${path} is a file of Clawrium's`, {
    why: "it contains a list, as Clawrium writes it; it was not changed",
    next: `clm import clawrium --config-dir ${quote(dir)}`,
    data: { path, reason: "clawrium" },
  });

function corrupt(path: string, { message: reason }: InvalidContent, backup: string | undefined): Fault {
  return new Fault("state-corrupt", `${path} is not valid`, {
    why: backup ? reason : [reason, "there is no good backup of it"],
    next: backup ? `cp ${quote(backup)} ${quote(path)}` : `\${EDITOR:-vi} ${quote(path)}`,
    data: { path, reason, backup },
  });
}

const newer = (path: string, found: number, known: number) =>
  new Fault("state-newer", `${path} was written by a newer clm`, {
    why: `it has version ${found}, and this clm supports up to ${known}; it was not changed`,
    next: "the same command with the newer clm, or with another --config-dir",
    data: { path, found, known },
  });

const wouldBreak = (path: string, reason: string) =>
  new Fault("bug", `clm was about to write invalid content to ${path}`, {
    why: `${reason}; the file was not changed`,
  });

const editedMeanwhile = (path: string) =>
  new Fault("locked", `${path} was changed by another program just now`, {
    why: "clm had read it before that change and wrote nothing",
    next: "the same command again",
  });
