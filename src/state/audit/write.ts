import { randomBytes } from "node:crypto";
import { closeSync, constants, fchmodSync, fsyncSync, ftruncateSync, openSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import { symlinkFault } from "../atomic-file.js";
import { cannotWrite, errnoOf } from "../disk-fault.js";
import { type Lock, withLock } from "../lock.js";
import { userName } from "../process-id.js";
import { readEnd, writeAll } from "./chain-file.js";
import type { Actor, AuditEntry } from "./entry.js";
import { beginning, seal } from "./hash-chain.js";
import { readHead, writeHead } from "./head.js";

/** A command with its command line, already redacted. */
export type AuditAction = Required<Pick<AuditEntry, "verb" | "target" | "argv">>;
/** Connects an end entry with its begin entry. */
export type AuditHandle = Pick<AuditEntry, "id" | "verb" | "target">;
export type Outcome = Required<Pick<AuditEntry, "result">> & Pick<AuditEntry, "fault" | "detail">;

const wallClock = () => new Date();

/** Writes the begin entry. Throws `state-readonly` when it cannot: then the action must not begin. */
export async function beginAudit(
  dir: string,
  { verb, target, argv }: AuditAction,
  now: () => Date = wallClock,
): Promise<AuditHandle> {
  const action = { id: randomBytes(6).toString("hex"), verb, target };
  await append(dir, { at: now().toISOString(), event: "begin", ...action, who: who(), argv });
  return action;
}

export function endAudit(
  dir: string,
  action: AuditHandle,
  outcome: Outcome,
  now: () => Date = wallClock,
): Promise<void> {
  return append(dir, { at: now().toISOString(), event: "end", ...action, who: who(), ...outcome });
}

function append(dir: string, entry: Omit<AuditEntry, "seq">): Promise<void> {
  return withLock(dir, "audit", { what: `clm ${entry.verb}` }, (lock) => {
    const path = join(dir, "audit.jsonl");
    try {
      const fd = openSync(path, constants.O_RDWR | constants.O_CREAT | constants.O_NOFOLLOW, 0o600);
      try {
        fchmodSync(fd, 0o600);
        appendTo(fd, dir, entry, lock);
      } finally {
        closeSync(fd);
      }
    } catch (error) {
      throw errnoOf(error) === "ELOOP" ? symlinkFault(path) : cannotWrite(path, dir, error);
    }
  });
}

function appendTo(fd: number, dir: string, entry: Omit<AuditEntry, "seq">, lock: Lock): void {
  const { end, last, torn } = readEnd(fd);
  const known = readHead(dir);
  const head = known ?? beginning;
  const isNew = !known && end === 0;
  const lost = !isNew && (!known || (last !== undefined && last.seq > head.seq + 1));
  // The head is written before the first line, so a crash can never leave a log without one.
  if (isNew) writeHead(dir, beginning, lock.mustBeMine);
  if (last && last.seq === head.seq + 1) writeHead(dir, last, lock.mustBeMine);
  // When lines are missing at the end, the chain continues from the head, so the gap stays detectable.
  const previous = last && last.seq > head.seq ? last : head;
  const marks = { ...(torn > 0 && { cut_bytes: torn }), ...(lost && { head_lost: true as const }) };
  const { line, link } = seal({ seq: previous.seq + 1, ...entry, ...marks }, previous);
  lock.mustBeMine();
  if (torn > 0) ftruncateSync(fd, end);
  try {
    writeAll(fd, Buffer.from(line), end);
    fsyncSync(fd);
  } catch (error) {
    ftruncateSync(fd, end);
    throw error;
  }
  writeHead(dir, link, lock.mustBeMine);
}

function who(): Actor {
  const sudoUser = process.env.SUDO_USER;
  return {
    user: userName(),
    uid: process.getuid?.() ?? -1,
    host: hostname(),
    pid: process.pid,
    ...(sudoUser && { sudo_user: sudoUser }),
  };
}
