import { closeSync, existsSync, fsync, mkdirSync } from "node:fs";
import { rm } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { promisify } from "node:util";
import { beginning, type ChainLink, seal } from "../../state/audit/hash-chain.js";
import { openSubdirectory } from "../../state/config-dir.js";
import { cannotWrite } from "../../state/disk-fault.js";
import { type AppendFile, append, lastOf, mustBeThere, openAppendFile, putAway, tryToGrow } from "./append-file.js";
import { current, oldFiles } from "./files.js";
import { readHead, writeHead, writeHeadBeside } from "./head.js";
import type { OpenLine } from "./request-line.js";

const toDisk = promisify(fsync);
// Milliseconds after which a file that could not be put away is tried again.
const pause = 1000;

interface LedgerLimits {
  maxBytes: number;
  keep: number;
}

/** The files of the log, and the place in the chain that they have reached. A method that throws has changed nothing. */
export class Ledger {
  #syncing = false;
  #triedToTurn = 0;
  /** Files that were replaced while a sync of them may still be running. */
  readonly #retired: number[] = [];

  static async open(dir: string, limits: LedgerLimits): Promise<Ledger> {
    let file: AppendFile | undefined;
    try {
      openSubdirectory(dirname(dir), basename(dir));
      const head = readHead(dir);
      file = openAppendFile(dir);
      const newestOld = oldFiles(dir).at(-1);
      const isNew = !head && file.size === 0 && !newestOld;
      // When lines are missing from the end, the chain continues from what the head knew: the gap can never be closed.
      const link = furthest(head ?? beginning, file.last, newestOld && lastOf(dir, newestOld.name));
      const after = head?.after ?? beginning;
      // The head is written before the first line, so that a log without one is never the work of a crash.
      writeHead(dir, { ...link, after });
      const marks = {
        ...(file.torn > 0 && { cut_bytes: file.torn }),
        ...(!head && !isNew && { head_lost: true as const }),
      };
      const ledger = new Ledger(dir, limits, file, link, after, marks);
      await ledger.sync();
      return ledger;
    } catch (error) {
      if (file && file.fd >= 0) closeSync(file.fd);
      throw cannotWrite(join(dir, current), dir, error);
    }
  }

  private constructor(
    private readonly dir: string,
    private readonly limits: LedgerLimits,
    private file: AppendFile,
    /** The last line that the kernel has. */
    private link: ChainLink,
    /** The last line that was removed with its file. */
    private after: ChainLink,
    /** What the next line reports about those before it. */
    private marks: Pick<OpenLine, "cut_bytes" | "unwritten" | "head_lost">,
  ) {}

  get last(): number {
    return this.link.seq;
  }

  /** Seals lines and writes all of them or none. Returns the number of the first. */
  add(lines: readonly OpenLine[]): number {
    const { file, marks } = this;
    const first = this.link.seq + 1;
    let place = this.link;
    const text = lines.map((line, index) => {
      const sealed = seal({ seq: place.seq + 1, ...line, ...(index === 0 && marks) }, place);
      place = sealed.link;
      return sealed.line;
    });
    append(this.dir, file, Buffer.from(text.join("")));
    file.first ??= first;
    this.link = place;
    this.marks = {};
    return first;
  }

  /** Puts the file away when it is long enough, and starts the next. */
  turnOver(): void {
    const { file, link } = this;
    if (file.size <= this.limits.maxBytes || Date.now() - this.#triedToTurn < pause) return;
    this.#triedToTurn = Date.now();
    try {
      if (!putAway(this.dir, file, file.first ?? link.seq)) return;
    } catch {
      // The lines are written; only the file is longer than it should be.
      return;
    }
    this.#triedToTurn = 0;
    this.#reopen();
  }

  mustBeThere(): void {
    mustBeThere(this.dir, this.file);
  }

  /** Remembers that lines were not written: the next one has their number. */
  missed(lines: number): void {
    this.marks = { ...this.marks, unwritten: (this.marks.unwritten ?? 0) + lines };
  }

  /** After a failure: opens the file again, checks that it can grow, and continues the chain. */
  repair(): void {
    // Not the folders above it: a config directory that was removed is not the gateway's to make.
    if (!existsSync(this.dir)) mkdirSync(this.dir, { mode: 0o700 });
    this.#reopen();
    tryToGrow(this.file);
    writeHead(this.dir, { ...this.link, after: this.after });
  }

  /** Brings all lines to the disk, and writes that to the head. Never twice at the same time. */
  async sync(): Promise<void> {
    const { file, link } = this;
    this.#syncing = true;
    try {
      // Older files were brought to the disk before they were put away.
      await toDisk(file.fd);
      const old = oldFiles(this.dir);
      const newest = old[old.length - this.limits.keep - 1];
      this.after = furthest(this.after, newest && lastOf(this.dir, newest.name));
      await writeHeadBeside(this.dir, { ...link, after: this.after });
      // Only now: the head says that their lines were removed on purpose.
      for (const { name, first } of old) if (first <= this.after.seq) await rm(join(this.dir, name), { force: true });
    } finally {
      this.#syncing = false;
      this.#closeRetired();
    }
  }

  close(): void {
    const { file } = this;
    if (file.fd >= 0) this.#retired.push(file.fd);
    file.fd = -1;
    if (!this.#syncing) this.#closeRetired();
  }

  #closeRetired(): void {
    for (const fd of this.#retired.splice(0)) closeSync(fd);
  }

  #reopen(): void {
    this.close();
    this.file = openAppendFile(this.dir, this.file);
    this.link = furthest(this.link, this.file.last);
    const { torn } = this.file;
    if (torn > 0) this.marks = { ...this.marks, cut_bytes: (this.marks.cut_bytes ?? 0) + torn };
  }
}

const furthest = (link: ChainLink, ...others: (ChainLink | undefined)[]): ChainLink =>
  others.reduce<ChainLink>((far, other) => (other && other.seq > far.seq ? other : far), link);
