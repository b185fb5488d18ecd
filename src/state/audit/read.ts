import { join } from "node:path";
import { readStateFile } from "../state-file.js";
import type { AuditEntry } from "./entry.js";
import { beginning, type ChainLink, entriesText, objectionTo, objectionToEnd, unseal } from "./hash-chain.js";
import { readHead } from "./head.js";

export interface AuditFilter {
  last?: number;
  since?: Date;
  target?: string;
}

/** The entries of the audit log, oldest first. Skips invalid lines, which `verifyAudit` reports. */
export function readAudit(dir: string, { last, since, target }: AuditFilter = {}): AuditEntry[] {
  const from = since?.toISOString();
  const entries = readLines(dir)
    .flatMap((line) => unseal<AuditEntry>(line)?.entry ?? [])
    .filter((entry) => (from === undefined || entry.at >= from) && (target === undefined || entry.target === target));
  return last === undefined ? entries : entries.slice(-last);
}

export interface AuditVerdict {
  ok: boolean;
  entries: number;
  /** The first line (1-based; 0 when the log is empty) that was tampered with, and why we think so. */
  firstBad?: { line: number; reason: string };
  /** Commands with a begin but no end entry: killed, or still running. */
  unfinished: AuditEntry[];
}

/** Checks that every line is present, unchanged and in order. Takes no lock and creates nothing. */
export function verifyAudit(dir: string): AuditVerdict {
  for (let tries = 0; ; tries++) {
    const head = readHead(dir);
    const verdict = judge(readLines(dir), head);
    // The head moved while we read the lines: read both again for a consistent view.
    if (readHead(dir)?.seq === head?.seq || tries > 100) return verdict;
  }
}

function judge(lines: string[], head: ChainLink | undefined): AuditVerdict {
  const begun = new Map<string, AuditEntry>();
  let previous = beginning;
  let firstBad: AuditVerdict["firstBad"];
  for (const [index, text] of lines.entries()) {
    const line = unseal<AuditEntry>(text);
    const reason = objectionTo(line, previous);
    if (reason) firstBad ??= { line: index + 1, reason };
    if (!line) continue;
    previous = line.link;
    if (line.entry.event === "begin") begun.set(line.entry.id, line.entry);
    else begun.delete(line.entry.id);
  }
  const missing = lines.length === 0 ? emptyObjection(head) : endObjection(previous, head);
  if (missing) firstBad ??= { line: lines.length, reason: missing };
  return { ok: !firstBad, entries: lines.length, ...(firstBad && { firstBad }), unfinished: [...begun.values()] };
}

const emptyObjection = (head: ChainLink | undefined): string | undefined =>
  head && head.seq > 0 ? `the log is empty: ${entriesText(1, head.seq)} missing` : undefined;

function endObjection(last: ChainLink, head: ChainLink | undefined): string | undefined {
  const reason = objectionToEnd(last, head);
  // The head is written after the line, so it may be one behind.
  return !reason && head && head.seq < last.seq - 1 ? `audit.head says the log ends with entry ${head.seq}` : reason;
}

/** Complete lines only: text after the last newline is being written, or its writer was killed. */
function readLines(dir: string): string[] {
  return (readStateFile(join(dir, "audit.jsonl"), false)?.text ?? "").split("\n").slice(0, -1);
}
