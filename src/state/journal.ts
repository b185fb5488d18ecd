import { randomBytes } from "node:crypto";
import { closeSync, constants, fsyncSync, openSync, readdirSync, writeSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import { removeIfThere } from "./atomic-file.js";
import { openSubdirectory } from "./config-dir.js";
import { cannotWrite } from "./disk-fault.js";
import { userName } from "./user.js";

const kept = 200;

/** What happened to one operation. Its title and reason are for people: no contents, no secrets. */
export interface JournalNote {
  id: string;
  result: string;
  why?: string | undefined;
}

/** The record of one command's work on a host. */
export interface Journal {
  readonly path: string;
  /** Never throws: work on a host is not stopped half-way because this machine's disk is full. `close` tells. */
  note(operation: JournalNote): void;
  /** Ends the record. Throws `state-readonly` when it is not all there. */
  close(result: "ok" | "failed"): void;
}

/** Begins `operations/<time>-<verb>-<id>.jsonl`. Throws `state-readonly` when it cannot: then the work must not begin. */
export function openJournal(
  dir: string,
  { verb, target }: { verb: string; target: string },
  now: () => Date = () => new Date(),
): Journal {
  const directory = openSubdirectory(dir, "operations");
  const time = now().toISOString().replace(/[-:]/g, "");
  const path = join(directory, `${time}-${verb.replace(/[^a-z0-9]+/gi, "-")}-${randomBytes(4).toString("hex")}.jsonl`);
  let trouble: unknown;

  const attempt = (work: () => void) => {
    try {
      work();
    } catch (error) {
      trouble ??= cannotWrite(path, directory, error);
    }
  };
  const mustHaveWorked = () => {
    if (trouble) throw trouble;
  };

  let fd = -1;
  const write = (line: object) => {
    const bytes = Buffer.from(`${JSON.stringify({ at: now().toISOString(), ...line })}\n`);
    if (writeSync(fd, bytes) < bytes.length)
      throw Object.assign(new Error("short write"), { code: "ENOSPC", errno: 28 });
  };

  attempt(() => {
    const { O_WRONLY, O_CREAT, O_EXCL, O_APPEND } = constants;
    fd = openSync(path, O_WRONLY | O_CREAT | O_EXCL | O_APPEND, 0o600);
    write({ event: "begin", verb, target, user: userName(), host: hostname(), pid: process.pid });
    fsyncSync(fd);
    prune(directory);
  });
  mustHaveWorked();

  return {
    path,
    note: ({ id, result, why }) => attempt(() => write({ event: "operation", id, result, ...(why && { why }) })),
    close(result) {
      attempt(() => write({ event: "end", result }));
      attempt(() => fsyncSync(fd));
      closeSync(fd);
      mustHaveWorked();
    },
  };
}

// The names begin with the time, so their order is the order of the work.
function prune(directory: string): void {
  const names = readdirSync(directory)
    .filter((name) => name.endsWith(".jsonl"))
    .sort();
  for (const name of names.slice(0, -kept)) removeIfThere(join(directory, name));
}
