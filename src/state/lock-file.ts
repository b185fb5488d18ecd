import {
  closeSync,
  constants,
  fstatSync,
  linkSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";
import { objectFrom } from "../text/json-object.js";
import { removeIfThere, sweepTemps, tempName, writeNew } from "./atomic-file.js";
import { errnoOf } from "./disk-fault.js";
import { isAlive, type ProcessId } from "./process-id.js";

/*
 * A lock on disk is a directory of numbered files, its generations. The highest number is the lock: `held` with its
 * owner, or `free`. Whoever finds generation g free, or its owner gone, takes the lock by making g+1.
 *
 * Why two processes never both believe they hold it:
 *  1. g+1 is made by link(2) from a complete file: one of several takers wins, and no reader sees half an owner.
 *  2. Only the holder deletes, only numbers below its own, lowest first. So the highest is never deleted, numbers never
 *     start again, and while g is there g+1 has never been deleted.
 *  3. A taker may sleep between looking at g and making g+1, while others take, free and delete g+1 and go on. Its link
 *     then succeeds on an old number. So after the link it looks again: g must be the file it had seen (by 2 its g+1 is
 *     then the first ever) and g+1 the highest (else another went past it). If not, it lets go and starts over. Either
 *     look would do if reading a directory were one moment; it need not be, so both are made.
 *  4. Generation 0 comes with the directory, by one rename(2), which fails on a directory that holds anything. So the
 *     numbers begin once.
 *
 * An owner that only seems gone (asleep past its expiry) finds a higher number when it wakes: `stillMine` is asked right
 * before every write to state. It marks its own open file, never a name, so it cannot disturb the one who took over.
 */

export interface LockOwner extends ProcessId {
  host: string;
  user: string;
  command: string;
  since: string;
}

export interface LockState {
  generation: number;
  free: boolean;
  /** Missing when a power cut left the file without content. */
  owner?: LockOwner;
  /** The owner's last heartbeat, by the file system's clock. */
  heartbeat: number;
  /** Distinguishes this file from another with the same number. */
  text: string;
}

export interface Claim {
  generation: number;
  stillMine(): boolean;
  beat(): void;
  release(): void;
}

export interface ClaimOptions {
  owner: LockOwner;
  /** Milliseconds without a heartbeat after which an owner on another machine counts as gone. */
  expiry: number;
  /** Whether an owner on this machine has been silent for so long that it must be stuck. */
  isStuck(seen: LockState): boolean;
}

/** Tries once to take the lock: a claim, the current holder, or undefined when it changed hands meanwhile. */
export function tryToTake(directory: string, terms: ClaimOptions): Claim | LockState | undefined {
  const seen = lockState(directory);
  if (!seen) {
    begin(directory);
    return undefined;
  }
  const alive = seen.free ? false : seen.owner && isAlive(seen.owner);
  const stuck = !seen.free && terms.isStuck(seen);
  if (alive && !stuck) return seen;

  const temp = join(directory, tempName("claim"));
  const fd = openSync(temp, constants.O_RDWR | constants.O_CREAT | constants.O_EXCL, 0o600);
  const claim = claimOn(fd, directory, seen.generation + 1);
  let taken = false;
  try {
    writeSync(fd, `held\n${JSON.stringify(terms.owner)}\n${temp}\n`);
    // Both times are the file system's own, so clocks of machines that share it need not agree.
    if (alive === undefined && !stuck && fstatSync(fd).mtimeMs - seen.heartbeat <= terms.expiry) return seen;
    linkSync(temp, join(directory, `${claim.generation}`));
    removeIfThere(temp);
    taken = read(directory, seen.generation)?.text === seen.text && claim.stillMine();
  } catch (error) {
    if (errnoOf(error) !== "EEXIST") throw error;
  } finally {
    if (!taken) {
      removeIfThere(temp);
      claim.release();
    }
  }
  if (!taken) return undefined;
  removeBelow(directory, claim.generation);
  return claim;
}

function claimOn(fd: number, directory: string, generation: number): Claim {
  const mark = (state: "held" | "free") => {
    try {
      writeSync(fd, state, 0);
    } catch {
      // The next write to state reports a failing disk; the lock ends with this process at the latest.
    }
  };
  return {
    generation,
    stillMine: () => fstatSync(fd).nlink > 0 && highest(directory) === generation,
    // Rewriting a byte sets the time by the file system's clock; utimes would set it by ours. It needs no free space.
    beat: () => mark("held"),
    release() {
      mark("free");
      closeSync(fd);
    },
  };
}

/** Undefined when there is no such lock yet, or when it is changing hands. */
export function lockState(directory: string): LockState | undefined {
  const generation = highest(directory);
  return generation === undefined ? undefined : read(directory, generation);
}

function read(directory: string, generation: number): LockState | undefined {
  let fd: number;
  try {
    fd = openSync(join(directory, `${generation}`), constants.O_RDONLY | constants.O_NOFOLLOW);
  } catch (error) {
    if (errnoOf(error) === "ENOENT") return undefined;
    throw error;
  }
  try {
    const heartbeat = fstatSync(fd).mtimeMs;
    const [state = "", ownerLine = "", ...rest] = readFileSync(fd, "utf8").split("\n");
    const owner = objectFrom<LockOwner>(ownerLine);
    const text = [ownerLine, ...rest].join("\n");
    return { generation, free: state.startsWith("f"), heartbeat, text, ...(owner && { owner }) };
  } finally {
    closeSync(fd);
  }
}

const highest = (directory: string): number | undefined => generations(directory).at(-1);

function generations(directory: string): number[] {
  try {
    const names = readdirSync(directory).filter((name) => /^\d{1,15}$/.test(name));
    return names.map(Number).sort((a, b) => a - b);
  } catch (error) {
    if (errnoOf(error) === "ENOENT") return [];
    throw error;
  }
}

function removeBelow(directory: string, generation: number): void {
  for (const older of generations(directory)) {
    if (older < generation) removeIfThere(join(directory, `${older}`));
  }
  sweepTemps(directory, "claim");
}

/** Makes generation 0, unless the directory is there. */
function begin(directory: string): void {
  const temp = join(dirname(directory), tempName(basename(directory)));
  sweepTemps(dirname(directory), basename(directory));
  mkdirSync(temp, { mode: 0o700 });
  try {
    writeNew(join(temp, "0"), "free\n");
    renameSync(temp, directory);
  } catch (error) {
    rmSync(temp, { recursive: true, force: true });
    if (!["ENOTEMPTY", "EEXIST"].includes(errnoOf(error) ?? "")) throw error;
  }
}
