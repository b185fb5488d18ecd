import { closeSync, fsync, mkdirSync } from "node:fs";
import { rm } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { promisify } from "node:util";
import { beginning, type ChainLink, seal } from "../../state/audit/hash-chain.js";
import { openSubdirectory } from "../../state/config-dir.js";
import { cannotWrite, errnoOf } from "../../state/disk-fault.js";
import { type AppendFile, append, lastOf, mustBeThere, openAppendFile, putAway, tryToGrow } from "./append-file.js";
import { current, oldFiles } from "./files.js";
import { readHead, writeHead, writeHeadBeside } from "./head.js";
import type { OpenLine } from "./request-line.js";

/** The files of the log and the place in the chain that they have reached. What cannot be done throws, and nothing is half done. */
export interface Ledger {
  /** The number of the last line. */
  readonly last: number;
  /** Gives lines their places and hands them to the system, all of them or none. Returns the number of the first. */
  add(lines: readonly OpenLine[]): number;
  /** Puts the file away when it is long enough, and begins the next. */
  turnOver(): void;
  /** Throws when the file is not where it was. */
  look(): void;
  /** Remembers that lines were not written: the next one says so. */
  missed(lines: number): void;
  /** After trouble: opens the file again, finds out whether it takes lines, and goes on with the chain. */
  mend(): void;
  /** Brings what was added to the disk, and says so in the head. Never twice at the same time. */
  sync(): Promise<void>;
  close(): void;
}

const toDisk = promisify(fsync);
/** Milliseconds after which a file that could not be put away is tried again. */
const pause = 1000;

export async function openLedger(dir: string, { maxBytes, keep }: { maxBytes: number; keep: number }): Promise<Ledger> {
  let file: AppendFile | undefined;
  try {
    openSubdirectory(dirname(dir), basename(dir));
    const head = readHead(dir);
    file = openAppendFile(dir);
    const newestOld = oldFiles(dir).at(-1);
    const isNew = !head && file.size === 0 && !newestOld;
    // When lines are missing from the end, the chain goes on from what the head knew: the gap can never be closed.
    const link = furthest(head ?? beginning, file.last, newestOld && lastOf(dir, newestOld.name));
    const after = head?.after ?? beginning;
    // The head comes before the first line, so that a log without one is never the work of a crash.
    writeHead(dir, { ...link, after });
    const marks = {
      ...(file.torn > 0 && { cut_bytes: file.torn }),
      ...(!head && !isNew && { head_lost: true as const }),
    };
    const ledger = continueOnError(dir, { maxBytes, keep }, { file, link, after, marks });
    await ledger.sync();
    return ledger;
  } catch (error) {
    if (file && file.fd >= 0) closeSync(file.fd);
    throw cannotWrite(join(dir, current), dir, error);
  }
}

interface Reached {
  file: AppendFile;
  /** The last line that is with the system. */
  link: ChainLink;
  /** The last line that we removed with its file. */
  after: ChainLink;
  /** What the next line has to say about those before it. */
  marks: Pick<OpenLine, "cut_bytes" | "unwritten" | "head_lost">;
}

function continueOnError(
  dir: string,
  { maxBytes, keep }: { maxBytes: number; keep: number },
  reached: Reached,
): Ledger {
  let { file, link, after, marks } = reached;
  let syncing = false;
  let triedToTurn = 0;
  /** Files that are done with while the disk may still be busy with them. */
  const retired: number[] = [];

  function retire(): void {
    if (file.fd >= 0) retired.push(file.fd);
    file.fd = -1;
    if (!syncing) for (const fd of retired.splice(0)) closeSync(fd);
  }

  function reopen(): void {
    retire();
    file = openAppendFile(dir, file);
    link = furthest(link, file.last);
    if (file.torn > 0) marks = { ...marks, cut_bytes: (marks.cut_bytes ?? 0) + file.torn };
  }

  return {
    get last() {
      return link.seq;
    },
    add(lines) {
      const first = link.seq + 1;
      let place = link;
      const text = lines.map((line, index) => {
        const sealed = seal({ seq: place.seq + 1, ...line, ...(index === 0 && marks) }, place);
        place = sealed.link;
        return sealed.line;
      });
      append(dir, file, Buffer.from(text.join("")));
      file.first ??= link.seq + 1;
      link = place;
      marks = {};
      return first;
    },
    turnOver() {
      if (file.size <= maxBytes || Date.now() - triedToTurn < pause) return;
      triedToTurn = Date.now();
      try {
        if (!putAway(dir, file, file.first ?? link.seq)) return;
      } catch {
        // The lines are where they should be; only the file is longer than asked for.
        return;
      }
      triedToTurn = 0;
      reopen();
    },
    look: () => void mustBeThere(dir, file),
    missed(lines) {
      marks = { ...marks, unwritten: (marks.unwritten ?? 0) + lines };
    },
    mend() {
      makeAgain(dir);
      reopen();
      tryToGrow(file);
      writeHead(dir, { ...link, after });
    },
    async sync() {
      const { fd } = file;
      const upTo = link;
      syncing = true;
      try {
        // What stands in older files was brought to the disk before they were put away.
        await toDisk(fd);
        const old = oldFiles(dir);
        const newest = old[old.length - keep - 1];
        after = furthest(after, newest && lastOf(dir, newest.name));
        await writeHeadBeside(dir, { ...upTo, after });
        // Only now: the head knows that they were ours to remove.
        for (const { name, first } of old) if (first <= after.seq) await rm(join(dir, name), { force: true });
      } finally {
        syncing = false;
        for (const old of retired.splice(0)) closeSync(old);
      }
    },
    close: retire,
  };
}

/** The folder may have been removed. Not those above it: a config directory that is gone is not ours to make. */
function makeAgain(dir: string): void {
  try {
    mkdirSync(dir, { mode: 0o700 });
  } catch (error) {
    if (errnoOf(error) !== "EEXIST") throw error;
  }
}

const furthest = (link: ChainLink, ...others: (ChainLink | undefined)[]): ChainLink =>
  others.reduce<ChainLink>((far, other) => (other && other.seq > far.seq ? other : far), link);
