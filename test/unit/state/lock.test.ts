import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { withLock } from "../../../src/state/lock.js";
import {
  type Claim,
  type ClaimOptions,
  type LockOwner,
  type LockState,
  tryToTake,
} from "../../../src/state/lock-file.js";
import { type ProcessId, thisProcess } from "../../../src/state/process-id.js";
import { faultOf, scratchDirectories } from "./scratch.js";

const scratch = scratchDirectories();

const deadHere: ProcessId = { ...thisProcess(), pid: 2 ** 22 + 1 };
const elsewhere: ProcessId = { pid: 1, place: "elsewhere", started: "1" };
const ownedBy = (id: ProcessId): LockOwner => ({
  ...id,
  host: "box",
  user: "ada",
  command: "clm host add",
  since: "2025-01-01T00:00:00.000Z",
});
const terms = (owner = ownedBy(thisProcess()), isStuck = false): ClaimOptions => ({
  owner,
  expiry: 1000,
  isStuck: () => isStuck,
});

/** Takes the lock as if this were the given process; looks twice, because the first look makes the directory. */
function take(directory: string, with_ = terms()): Claim | LockState {
  return tryToTake(directory, with_) ?? tryToTake(directory, with_) ?? tryToTake(directory, with_) ?? fail();
}
function taken(directory: string, with_ = terms()): Claim {
  const found = take(directory, with_);
  return "release" in found ? found : fail();
}
const fail = (): never => {
  throw new Error("the lock could not be taken");
};
const isHeld = (found: Claim | LockState | undefined) => found !== undefined && !("release" in found);
const numbers = (directory: string) => readdirSync(directory).sort();
const silentFor = (path: string, seconds: number) =>
  utimesSync(path, Date.now() / 1000 - seconds, Date.now() / 1000 - seconds);

test("one has it, the next gets it when it is free, and the number grows", () => {
  const directory = join(scratch(), "hosts");
  const first = taken(directory);
  expect(isHeld(take(directory))).toBe(true);
  first.release();
  const second = taken(directory);
  expect(second.generation).toBe(first.generation + 1);
  expect(numbers(directory)).toEqual([`${second.generation}`]);
  second.release();
});

test("the file of a lock is closed to others and names its owner", () => {
  const directory = join(scratch(), "hosts");
  const { generation, release } = taken(directory);
  const path = join(directory, `${generation}`);
  expect(statSync(path).mode & 0o777).toBe(0o600);
  expect(JSON.parse(readFileSync(path, "utf8").split("\n")[1] ?? "")).toMatchObject({ user: "ada", pid: process.pid });
  release();
});

test("the lock of a process that died here is taken at once", () => {
  const directory = join(scratch(), "hosts");
  taken(directory, terms(ownedBy(deadHere)));
  expect(isHeld(take(directory))).toBe(false);
});

test("so is the lock of a process whose pid was reused", () => {
  const directory = join(scratch(), "hosts");
  taken(directory, terms(ownedBy({ ...thisProcess(), started: "1" })));
  expect(isHeld(take(directory))).toBe(false);
});

test.each([
  ["elsewhere", ownedBy(elsewhere)],
  ["before the last boot", ownedBy({ ...thisProcess(), place: "another-boot" })],
])("the lock of a process %s is taken when its heartbeat is old, not before", (_, owner) => {
  const directory = join(scratch(), "hosts");
  const { generation } = taken(directory, terms(owner));
  expect(isHeld(take(directory))).toBe(true);
  silentFor(join(directory, `${generation}`), 10);
  expect(isHeld(take(directory))).toBe(false);
});

test("a heartbeat keeps it", () => {
  const directory = join(scratch(), "hosts");
  const claim = taken(directory, terms(ownedBy(elsewhere)));
  silentFor(join(directory, `${claim.generation}`), 10);
  claim.beat();
  expect(isHeld(take(directory))).toBe(true);
});

test("a file without content, as a power cut may leave it, counts as held until it is old", () => {
  const directory = join(scratch(), "hosts");
  const { generation } = taken(directory);
  const path = join(directory, `${generation}`);
  writeFileSync(path, "");
  expect(isHeld(take(directory))).toBe(true);
  silentFor(path, 10);
  expect(isHeld(take(directory))).toBe(false);
});

test("a living owner here is not robbed for an old heartbeat, only when it was seen to be stuck", () => {
  const directory = join(scratch(), "hosts");
  const { generation } = taken(directory);
  silentFor(join(directory, `${generation}`), 10);
  expect(isHeld(take(directory))).toBe(true);
  expect(isHeld(take(directory, terms(ownedBy(thisProcess()), true)))).toBe(false);
});

test("a writer that lost the lock knows it, and cannot disturb the new owner", () => {
  const directory = join(scratch(), "hosts");
  const robbed = taken(directory);
  expect(robbed.stillMine()).toBe(true);
  const owner = taken(directory, terms(ownedBy(thisProcess()), true));
  expect(robbed.stillMine()).toBe(false);
  robbed.beat();
  robbed.release();
  expect(owner.stillMine()).toBe(true);
  expect(isHeld(take(directory))).toBe(true);
  expect(numbers(directory)).toEqual([`${owner.generation}`]);
});

test("a taker that slept while others came and went does not get an old number", () => {
  const directory = join(scratch(), "hosts");
  taken(directory).release();
  // While we look at generation g, the lock is taken and freed twice: g and g+1 are gone, g+2 is free.
  let asleep = true;
  const sleeper: ClaimOptions = {
    ...terms(),
    isStuck(seen) {
      if (asleep) {
        asleep = false;
        taken(directory, terms(ownedBy(thisProcess()), true)).release();
        taken(directory).release();
      }
      return seen.generation > 0;
    },
  };
  const holder = taken(directory);
  expect(tryToTake(directory, sleeper)).toBeUndefined();
  expect(holder.stillMine()).toBe(false);
  // Its attempt left nothing that the next one stumbles over.
  const next = taken(directory);
  expect(next.generation).toBe(holder.generation + 3);
  expect(numbers(directory)).toEqual([`${next.generation}`]);
});

test("nor does one that was suspended while another took the lock", () => {
  const directory = join(scratch(), "hosts");
  const holder = taken(directory);
  let other: Claim | undefined;
  const sleeper: ClaimOptions = {
    ...terms(),
    isStuck() {
      other ??= taken(directory, terms(ownedBy(thisProcess()), true));
      return true;
    },
  };
  expect(tryToTake(directory, sleeper)).toBeUndefined();
  expect(holder.stillMine()).toBe(false);
  expect(other?.stillMine()).toBe(true);
});

test("removing the lock's directory takes the lock from its owner", () => {
  const directory = join(scratch(), "hosts");
  const robbed = taken(directory);
  rmSync(directory, { recursive: true });
  expect(robbed.stillMine()).toBe(false);
  // Even when the fencing numbers started again and reached its own.
  expect(taken(directory).generation).toBe(robbed.generation);
  expect(robbed.stillMine()).toBe(false);
});

test("what killed takers left is swept", () => {
  const root = scratch();
  const directory = join(root, "hosts");
  const { pid, place, started } = deadHere;
  mkdirSync(join(root, `.hosts~${pid}~${started}~${place}~0`));
  taken(directory).release();
  writeFileSync(join(directory, `.claim~${pid}~${started}~${place}~0`), "");
  const claim = taken(directory);
  expect(numbers(directory)).toEqual([`${claim.generation}`]);
  expect(readdirSync(root)).toEqual(["hosts"]);
});

test("waiters in one process get the lock one at a time, in order", async () => {
  const root = scratch();
  const order: number[] = [];
  let inside = 0;
  const work = (n: number) =>
    withLock(root, "hosts", {}, async () => {
      expect(++inside).toBe(1);
      await sleep(1);
      order.push(n);
      inside--;
    });
  await Promise.all([1, 2, 3, 4, 5].map(work));
  expect(order).toEqual([1, 2, 3, 4, 5]);
});

test("locks of other names do not wait for each other", async () => {
  const root = scratch();
  expect(await withLock(root, "a", {}, () => withLock(root, "b", {}, () => "both"))).toBe("both");
});

test("work that throws frees the lock", async () => {
  const root = scratch();
  const broken = withLock(root, "hosts", {}, () => {
    throw new Error("no");
  });
  await expect(broken).rejects.toThrow("no");
  expect(await withLock(root, "hosts", { wait: 0 }, () => "free")).toBe("free");
});

test("a wait that times out names the owner, the time and the next command", async () => {
  const root = scratch();
  mkdirSync(join(root, "locks"));
  const owner = ownedBy({ ...thisProcess() });
  taken(join(root, "locks/hosts"), terms(owner));
  const fault = await faultOf(() => withLock(root, "hosts", { wait: 20 }, () => {}));
  expect(fault.fault).toBe("locked");
  const said = [fault.message, ...fault.why, ...fault.next].join("\n");
  for (const word of ["hosts", "clm host add", `pid ${process.pid}`, "ada@box", owner.since, `kill ${process.pid}`]) {
    expect(said).toContain(word);
  }
});

test("an owner elsewhere is not offered to be killed here", async () => {
  const root = scratch();
  mkdirSync(join(root, "locks"));
  taken(join(root, "locks/hosts"), terms(ownedBy(elsewhere)));
  const fault = await faultOf(() => withLock(root, "hosts", { wait: 20 }, () => {}));
  expect(fault.next.join()).not.toContain("kill");
});

test("a lock's directory that holds something else ends in a fault, not a hang", async () => {
  const root = scratch();
  mkdirSync(join(root, "locks/hosts"), { recursive: true });
  writeFileSync(join(root, "locks/hosts/.DS_Store"), "");
  const fault = await faultOf(() => withLock(root, "hosts", { wait: 0 }, () => {}));
  expect(fault.fault).toBe("locked");
});

test("a stuck owner loses the lock to a waiter that watched it for the whole expiry", async () => {
  const root = scratch();
  mkdirSync(join(root, "locks"));
  const stuck = taken(join(root, "locks/hosts"));
  expect(await withLock(root, "hosts", { expiry: 50, wait: 10_000 }, () => "mine")).toBe("mine");
  expect(stuck.stillMine()).toBe(false);
});

test("an owner with a heartbeat keeps it, however long its work takes", async () => {
  const root = scratch();
  const directory = join(root, "locks/hosts");
  await withLock(root, "hosts", { expiry: 50 }, async (lock) => {
    const path = join(directory, `${lock.generation}`);
    silentFor(path, 10);
    await expect.poll(() => Date.now() - statSync(path).mtimeMs).toBeLessThan(5000);
    lock.mustBeMine();
  });
});

test("a writer that loses the lock during its work is stopped before it writes", async () => {
  const root = scratch();
  const fault = await faultOf(() =>
    withLock(root, "hosts", {}, (lock) => {
      taken(join(root, "locks/hosts"), terms(ownedBy(thisProcess()), true));
      lock.mustBeMine();
    }),
  );
  expect(fault.fault).toBe("locked");
});

test("taking it twice in one go is a fault, not a hang", async () => {
  const root = scratch();
  const fault = await faultOf(() => withLock(root, "hosts", {}, () => withLock(root, "hosts", { wait: 10 }, () => {})));
  expect(fault.fault).toBe("locked");
  expect(await withLock(root, "hosts", { wait: 0 }, () => "free")).toBe("free");
});

test.each(["another process", "this process"])("waiting for %s can be interrupted", async (whose) => {
  const root = scratch();
  const stop = new AbortController();
  const waiting = () => withLock(root, "hosts", { signal: stop.signal }, () => {});
  const interrupted = async () => {
    const fault = faultOf(waiting);
    setTimeout(() => stop.abort(), 5);
    expect((await fault).fault).toBe("interrupted");
    expect((await faultOf(waiting)).fault).toBe("interrupted");
  };
  if (whose === "this process") await withLock(root, "hosts", {}, interrupted);
  else {
    mkdirSync(join(root, "locks"));
    taken(join(root, "locks/hosts"));
    await interrupted();
  }
});
