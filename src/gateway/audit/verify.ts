import { isDeepStrictEqual } from "node:util";
import { beginning, type ChainLink, entriesText, objectionTo, objectionToEnd } from "../../state/audit/hash-chain.js";
import { current, oldFiles } from "./files.js";
import { type Head, readHead } from "./head.js";
import { unsealed } from "./log-reader.js";
import { type LogFile, openFiles } from "./open-files.js";

export interface BadPlace {
  file: string;
  /** From 1 on; 0 when there is none. */
  line: number;
  /** The number that the line itself has. */
  seq?: number;
  reason: string;
}

export interface LogIntegrity {
  ok: boolean;
  /** Lines that were checked, and their files. */
  entries: number;
  files: number;
  /** The number of the last line; 0 when there never was one. */
  last: number;
  firstBad?: BadPlace;
}

/** Whether every line is there, unchanged and in order. Takes no lock, creates nothing, and works while a gateway writes. */
export async function verifyRequestLog(dir: string): Promise<LogIntegrity> {
  let before: LogIntegrity | undefined;
  for (let tries = 1; ; tries++) {
    const [head, old] = [readHead(dir), oldFiles(dir)];
    const verdict = await judge(dir, head);
    const hasMoved = () => !isDeepStrictEqual([readHead(dir), oldFiles(dir)], [head, old]);
    // If the gateway wrote meanwhile, an apparent error may be a file that it removed or a refused line that it took back; a real
    // one is found again.
    const isSure = verdict.ok || isDeepStrictEqual(verdict.firstBad, before?.firstBad) || tries >= 100;
    if (isSure || !hasMoved()) return verdict;
    before = verdict;
  }
}

async function judge(dir: string, head: Head | undefined): Promise<LogIntegrity> {
  const after = head?.after ?? beginning;
  // Files up to `after` were to be removed, and may still be there after a crash.
  const kept = (all: readonly LogFile[]) => all.filter(({ first }) => first === undefined || first > after.seq);
  let previous: ChainLink = after;
  let files = 0;
  let entries = 0;
  let firstBad: BadPlace | undefined;
  let end: BadPlace = { file: current, line: 0, reason: "" };
  const isKnown = ({ seq, hash }: ChainLink) => seq !== head?.seq || hash === head.hash;

  for await (const { file, reader } of openFiles(dir, kept)) {
    files++;
    let count = 0;
    const bad = (reason: string | undefined, seq?: number) => {
      if (reason) firstBad ??= { file: file.name, line: count, ...(seq !== undefined && { seq }), reason };
    };
    for (let lines = await reader.more(); lines; lines = await reader.more()) {
      for (const bytes of lines) {
        count++;
        const line = unsealed(bytes);
        bad(objectionTo(line, previous) ?? nameObjection(file, count, line?.link), line?.link.seq);
        if (!line) continue;
        if (!isKnown(line.link)) bad("it is not the line recorded in audit.head", line.link.seq);
        previous = line.link;
      }
    }
    // Only the newest file may have a line that is being written.
    if (file.name !== current && reader.torn > 0) {
      count++;
      bad("its end is missing");
    }
    entries += count;
    if (count > 0) end = { file: file.name, line: count, seq: previous.seq, reason: "" };
  }
  // A log without any line and head was never written to.
  const missing = !head && entries === 0 ? undefined : endObjection(previous, head, entries);
  if (missing) firstBad ??= { ...end, reason: missing };
  return { ok: !firstBad, entries, files, last: previous.seq, ...(firstBad && { firstBad }) };
}

function nameObjection({ name, first }: LogFile, line: number, link: ChainLink | undefined): string | undefined {
  return line === 1 && first !== undefined && link && link.seq !== first
    ? `${name} should begin with entry ${first}`
    : undefined;
}

function endObjection(last: ChainLink, head: Head | undefined, entries: number): string | undefined {
  const reason = objectionToEnd(last, head);
  return reason && head && entries === 0 && head.seq > head.after.seq
    ? `the log is empty: ${entriesText(head.after.seq + 1, head.seq)} missing`
    : reason;
}
