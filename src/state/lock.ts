import { hostname } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { Fault, type FaultDetails } from "../errors.js";
import { openSubdirectory } from "./config-dir.js";
import { cannotWrite } from "./disk-fault.js";
import { type Claim, type LockOwner, type LockState, tryToTake } from "./lock-file.js";
import { takeTurn } from "./lock-queue.js";
import { isAlive, thisProcess } from "./process-id.js";
import { userName } from "./user.js";

export interface LockOptions {
  /** The running command, shown to those who wait: `clm host add`. Never its secrets. */
  what?: string;
  /** Milliseconds to wait for another to finish. */
  wait?: number;
  /** Milliseconds without a sign of life after which an owner counts as gone. */
  expiry?: number;
  signal?: AbortSignal;
}

export interface Lock {
  /** Grows by one with every owner and never starts again. */
  generation: number;
  /** False when it was taken over because we gave no sign of life for too long. */
  stillMine(): boolean;
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
  const endTurn = await takeTurn(directory, until, signal, () => ownTurnTaken(name, wait));
  try {
    const claim = await take(directory, { name, what, wait, until, expiry, signal });
    const heart = setInterval(claim.beat, expiry / 5).unref();
    try {
      return await work({
        generation: claim.generation,
        stillMine: claim.stillMine,
        mustBeMine() {
          if (!claim.stillMine()) throw takenOver(name);
        },
      });
    } finally {
      clearInterval(heart);
      claim.release();
    }
  } finally {
    endTurn();
  }
}

interface TakeOptions extends Required<Omit<LockOptions, "signal">> {
  name: string;
  until: number;
  signal: AbortSignal | undefined;
}

async function take(directory: string, { name, what, wait, until, expiry, signal }: TakeOptions): Promise<Claim> {
  const me = { ...thisProcess(), host: hostname(), user: userName(), command: what };
  const isStuck = silenceWatch(expiry);
  let pause = 2;
  for (let tries = 0; ; tries++) {
    if (signal?.aborted) throw interrupted(name);
    const owner = { ...me, since: new Date().toISOString() };
    const found = attempt(directory, { owner, expiry, isStuck });
    if (found && "release" in found) return found;
    if (performance.now() >= until && (found || tries > 20)) throw stillLocked(name, wait, found);
    try {
      await sleep(pause * (0.5 + Math.random()), undefined, signal && { signal });
    } catch {
      throw interrupted(name);
    }
    pause = Math.min(pause * 1.5, 30);
  }
}

function attempt(directory: string, terms: Parameters<typeof tryToTake>[1]): ReturnType<typeof tryToTake> {
  try {
    return tryToTake(directory, terms);
  } catch (error) {
    throw cannotWrite(directory, directory, error);
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
  const here = owner && isAlive(owner);
  return new LockHeld(name, `another clm has '${name}' and did not finish within ${seconds(wait)}`, {
    why: owner
      ? [
          `${owner.command} (pid ${owner.pid} of ${owner.user}@${owner.host}) has had it since ${owner.since}`,
          `its last sign of life was at ${new Date(heartbeat ?? 0).toISOString()}`,
        ]
      : "it does not say who it is",
    next: here
      ? ["the same command again, when it is done", `kill ${owner.pid}`]
      : "the same command again, when it is done",
    data: { lock: name, owner: owner && publicPart(owner) },
  });
}

const publicPart = ({ pid, user, host, command, since }: LockOwner) => ({ pid, user, host, command, since });

const ownTurnTaken = (name: string, wait: number) =>
  new Fault("locked", `this same clm has '${name}' and did not finish within ${seconds(wait)}`);

const takenOver = (name: string) =>
  new Fault("locked", `another clm took over '${name}'`, {
    why: "this one gave no sign of life for too long, as when it was suspended; it has written nothing since",
    next: "the same command again",
  });

const interrupted = (name: string) => new Fault("interrupted", `stopped while waiting for '${name}'`);
const seconds = (milliseconds: number) => `${Math.round(milliseconds / 100) / 10} s`;
