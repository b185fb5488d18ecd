import { hostname } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { type Limit, limit } from "../async/limit.js";
import { waitFor } from "../async/wait.js";
import { Fault, type FaultDetails } from "../errors.js";
import { namesIn, openSubdirectory } from "./config-dir.js";
import { cannotWrite } from "./disk-fault.js";
import { type Claim, type LockOwner, type LockState, lockState, tryToTake } from "./lock-file.js";
import { isAlive, thisProcess, userName } from "./process-id.js";

export interface LockOptions {
  /** The running command, shown to those who wait: `clm host add`. Never its secrets. */
  what?: string;
  /** Milliseconds to wait for another to finish. */
  wait?: number;
  /** Milliseconds without a sign of life after which an owner counts as gone. */
  expiry?: number;
  signal?: AbortSignal;
}

/** `generation` grows by one with every owner and never starts again. */
export interface Lock extends Pick<Claim, "generation" | "stillMine"> {
  /** Throws `locked` when it is no longer ours: asked right before a write becomes real. */
  mustBeMine(): void;
}

/**
 * Does `work` while no other process, here or on a machine that shares the directory, holds the lock `name`.
 * The lock of a killed process is taken at once; that of a silent one after its expiry. Not re-entrant.
 */
export async function withLock<T>(
  root: string,
  name: string,
  { what = "clm", wait = 20_000, expiry = 15_000, signal }: LockOptions,
  work: (lock: Lock) => T | Promise<T>,
): Promise<T> {
  const directory = join(openSubdirectory(root, "locks"), name);
  const until = performance.now() + wait;
  const endTurn = await takeTurn(directory, { name, wait, signal });
  try {
    const claim = await take(directory, { name, what, wait, until, expiry, signal }).catch((error) => {
      throw cannotWrite(directory, directory, error);
    });
    const heart = setInterval(claim.beat, expiry / 5).unref();
    const mustBeMine = () => {
      if (!claim.stillMine()) throw takenOver(name);
    };
    try {
      return await work({ ...claim, mustBeMine });
    } finally {
      clearInterval(heart);
      claim.release();
    }
  } finally {
    endTurn();
  }
}

interface WaitOptions {
  name: string;
  wait: number;
  signal: AbortSignal | undefined;
}

// Within one process, waiters for the same lock queue here; only the first polls the disk. As many as there are names.
const queues = new Map<string, Limit>();

/** Waits for our turn, first come first served. Call the result to end the turn. */
function takeTurn(directory: string, { name, wait, signal }: WaitOptions): Promise<() => void> {
  const queue = queues.get(directory) ?? limit(1);
  queues.set(directory, queue);
  const turn = new Promise<() => void>((begin) => queue(() => new Promise<void>(begin)));
  const late = () => ownTurnTaken(name, wait);
  return waitFor(turn, { timeout: wait, late, signal, drop: (end) => end() }).catch((error) => {
    throw signal?.aborted ? interrupted("another part of the same command") : error;
  });
}

interface TakeOptions extends WaitOptions {
  what: string;
  until: number;
  expiry: number;
}

async function take(directory: string, { name, what, wait, until, expiry, signal }: TakeOptions): Promise<Claim> {
  const me = { ...thisProcess(), host: hostname(), user: userName(), command: what };
  const isStuck = silenceWatch(expiry);
  let pause = 2;
  for (let tries = 0; ; tries++) {
    if (signal?.aborted) throw interrupted(`'${name}'`);
    const owner = { ...me, since: new Date().toISOString() };
    const found = tryToTake(directory, { owner, expiry, isStuck });
    if (found && "release" in found) return found;
    if (performance.now() >= until && (found || tries > 20)) throw stillLocked(name, wait, found);
    await sleep(pause * (0.5 + Math.random()), undefined, signal && { signal }).catch(() => {});
    pause = Math.min(pause * 1.5, 30);
  }
}

/** Whether a local owner was silent for `expiry` while we were awake: after sleep or Ctrl-Z it gets time to beat. */
function silenceWatch(expiry: number): (seen: LockState) => boolean {
  let watched = "";
  let silent = 0;
  let last = 0;
  return ({ generation, heartbeat }) => {
    const now = performance.now();
    const current = `${generation} ${heartbeat}`;
    silent = current === watched ? silent + Math.min(now - last, 250) : 0;
    watched = current;
    last = now;
    return silent > expiry;
  };
}

/** Another process holds the lock and did not finish in time. */
export class LockHeld extends Fault {
  constructor(
    readonly lock: string,
    what: string,
    details: FaultDetails,
  ) {
    super("locked", what, details);
  }
}

function stillLocked(name: string, wait: number, seen: LockState | undefined): Fault {
  const { owner, heartbeat } = seen ?? {};
  return new LockHeld(name, `another clm has '${name}' and did not finish within ${seconds(wait)}`, {
    why: owner
      ? [
          `${owner.command} (pid ${owner.pid} of ${owner.user}@${owner.host}) has had it since ${owner.since}`,
          `its last heartbeat was at ${new Date(heartbeat ?? 0).toISOString()}`,
        ]
      : "its lock file names no process",
    next: ["the same command again, when it is done", ...(owner && isAlive(owner) ? [`kill ${owner.pid}`] : [])],
    data: { lock: name, owner: owner && publicPart(owner) },
  });
}

const publicPart = ({ pid, user, host, command, since }: LockOwner) => ({ pid, user, host, command, since });

const ownTurnTaken = (name: string, wait: number) =>
  new Fault("locked", `this same clm has '${name}' and did not finish within ${seconds(wait)}`);

const takenOver = (name: string) =>
  new Fault("locked", `another clm took over '${name}'`, {
    why: "this process was unresponsive for too long, for example suspended; it has written nothing since",
    next: "the same command again",
  });

const interrupted = (what: string) => new Fault("interrupted", `stopped while waiting for ${what}`);
const seconds = (milliseconds: number) => `${Math.round(milliseconds / 100) / 10} s`;

/** Locks of killed processes. They need no repair: the next taker gets them. */
export function abandonedLocks(configDir: string): { name: string; owner: LockOwner }[] {
  const root = join(configDir, "locks");
  return namesIn(root).flatMap((name) => {
    try {
      const { owner, free } = lockState(join(root, name)) ?? {};
      return owner && !free && isAlive(owner) === false ? [{ name, owner }] : [];
    } catch {
      // Not a lock, or not readable: whoever wants to take it is told so.
      return [];
    }
  });
}
