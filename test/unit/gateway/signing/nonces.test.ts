import { appendFileSync, mkdirSync, readdirSync, readFileSync, statSync, truncateSync, writeFileSync } from "node:fs";
import { open } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, describe, expect, it, vi } from "vitest";
import { Nonces } from "../../../../src/gateway/signing/nonces.js";
import { faultOf, scratchDirectories } from "../../state/scratch.js";
import { refusalOf } from "./refusal-of.js";

const scratch = scratchDirectories();

/** 1,800,000,000 begins a generation: its number is 6,000,000. */
const start = 1_800_000_000;
const generation = 6_000_000;

const opened = new Set<Nonces>();
afterEach(async () => {
  for (const each of opened) await each.close();
  opened.clear();
});

/** Nonces in a folder, with a clock that is set by hand. */
async function folder(dir = scratch(), seconds = start, most?: number) {
  const clock = { seconds };
  const nonces = await Nonces.open(dir, () => new Date(clock.seconds * 1000), most);
  opened.add(nonces);
  return {
    dir,
    clock,
    nonces,
    use: (nonce: string, stamp = clock.seconds, id = "aaaaaaaa") => nonces.use(id, nonce, stamp),
    refused: async (nonce: string, stamp = clock.seconds, id = "aaaaaaaa") =>
      (await refusalOf(nonces.use(id, nonce, stamp))).code,
  };
}

const named = (count: number) =>
  Array.from({ length: count }, (_, index) => `nonce-number-${String(index).padStart(8, "0")}`);
const files = (dir: string) => readdirSync(join(dir, "nonces")).sort();
const linesOf = (dir: string, file = String(generation)) =>
  readFileSync(join(dir, "nonces", file), "utf8")
    .split("\n")
    .slice(0, -1);
function ended({ nonces }: { nonces: Nonces }): Promise<void> {
  opened.delete(nonces);
  return nonces.close();
}

it("a nonce is used once, by each key", async () => {
  const { use, refused } = await folder();
  await use("first");
  expect(await refused("first")).toBe("request_replayed");
  await use("first", start, "bbbbbbbb");
  await use("second");
  // Also with another stamp: a nonce is for one request.
  expect(await refused("first", start + 300)).toBe("request_replayed");
});

it("of many at the same moment exactly one passes", async () => {
  const { use, dir } = await folder();
  const ends = await Promise.allSettled(Array.from({ length: 200 }, () => use("the-same")));
  expect(ends.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
  expect(linesOf(dir)).toEqual([`aaaaaaaa the-same ${start}`]);
});

it("is on the disk when it was used, closed to others", async () => {
  const { use, dir } = await folder();
  const all = named(500);
  await Promise.all(
    all.map(async (nonce) => {
      await use(nonce);
      expect(linesOf(dir)).toContain(`aaaaaaaa ${nonce} ${start}`);
    }),
  );
  expect(linesOf(dir)).toEqual(all.map((nonce) => `aaaaaaaa ${nonce} ${start}`));
  expect(statSync(join(dir, "nonces", String(generation))).mode & 0o777).toBe(0o600);
  expect(statSync(join(dir, "nonces")).mode & 0o777).toBe(0o700);
});

it("many of one moment share the way to the disk", async () => {
  const file = await open(join(scratch(), "any"), "w");
  const synced = vi.spyOn(Object.getPrototypeOf(file), "datasync");
  await file.close();
  try {
    const { use } = await folder();
    const wave = (of: string) => Promise.all(named(300).map((nonce) => use(`${of}-${nonce}`)));
    await wave("first");
    expect(synced).toHaveBeenCalledTimes(1);
    // While those of one wave are on their way, those of the others wait together.
    await Promise.all(["second", "third", "fourth"].map(wave));
    expect(synced.mock.calls.length).toBeLessThanOrEqual(3);
  } finally {
    synced.mockRestore();
  }
});

describe("after a restart", () => {
  it("is still used, as long as its request could come again", async () => {
    const before = await folder();
    await before.use("one");
    await before.use("ahead", start + 300);
    await ended(before);
    const after = await folder(before.dir, start + 300);
    expect(await after.refused("one", start)).toBe("request_replayed");
    expect(await after.refused("ahead", start + 300)).toBe("request_replayed");
    await after.use("another");
  });

  it.each([1, 5, 20])("half a line is cut (%i bytes are left of it), and what follows is whole", async (left) => {
    const before = await folder();
    await before.use("one");
    await before.use("two");
    await ended(before);
    const path = join(before.dir, "nonces", String(generation));
    truncateSync(path, `aaaaaaaa one ${start}\n`.length + left);
    const after = await folder(before.dir);
    expect(await after.refused("one")).toBe("request_replayed");
    // It never passed: the disk has it only half.
    await after.use("two");
    await after.use("three");
    await ended(after);
    expect(linesOf(before.dir)).toEqual(["one", "two", "three"].map((nonce) => `aaaaaaaa ${nonce} ${start}`));
  });

  it("an unreadable line could have been any nonce of its time", async () => {
    const before = await folder();
    await before.use("one");
    await ended(before);
    appendFileSync(join(before.dir, "nonces", String(generation)), "\0\0\0\0\n");
    const after = await folder(before.dir, start + 200);
    const refusal = await refusalOf(after.nonces.use("aaaaaaaa", "new", start + 200));
    expect([refusal.status, refusal.code, refusal.retryAfter]).toEqual([503, "nonces_unavailable", 100]);
    after.clock.seconds = start + 300;
    await after.use("new");
  });

  it("foreign files are kept", async () => {
    const { dir, use } = await folder();
    writeFileSync(join(dir, "nonces", "README"), "mine");
    await use("one");
    const after = await folder(dir, start + 10_000);
    await after.use("two");
    expect(files(dir)).toContain("README");
  });
});

describe("expired nonces", () => {
  it("is forgotten, with its file", async () => {
    const { use, dir, clock } = await folder();
    await use("one");
    await use("late", start + 299);
    clock.seconds = start + 599;
    await use("two");
    expect(files(dir)).toEqual([String(generation), String(generation + 1)]);
    clock.seconds = start + 600;
    await use("three");
    // The next group waits until the file has gone.
    await use("four");
    expect(files(dir)).toEqual([`${generation}.over`, String(generation + 1), String(generation + 2)]);
    expect(statSync(join(dir, "nonces", `${generation}.over`)).size).toBe(0);
    clock.seconds = start + 10_000;
    await use("five");
    await use("six");
    expect(files(dir).filter((name) => name.endsWith(".over"))).toEqual([`${generation + 2}.over`]);
  });

  it("is forgotten at the start too", async () => {
    const before = await folder();
    await before.use("one");
    await ended(before);
    const after = await folder(before.dir, start + 600);
    expect(files(before.dir)).toEqual([`${generation}.over`]);
    await after.use("two");
  });

  it("cannot come again when the clock is set back, also after a restart", async () => {
    const { use, dir, clock, refused, nonces } = await folder();
    await use("one");
    clock.seconds = start + 600;
    await use("two");
    await use("three");
    clock.seconds = start + 10;
    expect(await refused("one", start)).toBe("nonces_unavailable");
    await use("four", start + 310);
    await ended({ nonces });
    const after = await folder(dir, start + 10);
    expect(await after.refused("one", start)).toBe("nonces_unavailable");
    expect(await after.refused("four", start + 310)).toBe("request_replayed");
  });
});

it("holds no more than it may", async () => {
  const { use, refused, clock } = await folder(scratch(), start, 3);
  await Promise.all(named(3).map((nonce) => use(nonce)));
  expect(await refused("one-more")).toBe("nonces_unavailable");
  expect(await refused(named(1)[0] ?? "")).toBe("request_replayed");
  clock.seconds = start + 100_000;
  await use("later");
});

describe("when the disk refuses", () => {
  it("every request is refused until it recovers", async () => {
    const { use, dir } = await folder();
    // Where its file should be there is a folder.
    mkdirSync(join(dir, "nonces", String(generation + 1)));
    const ends = await Promise.all(named(3).map((nonce) => refusalOf(use(nonce, start + 300))));
    expect(ends.map(({ status, code }) => [status, code])).toEqual(Array(3).fill([503, "nonces_unavailable"]));
    expect(ends.map(({ cause }) => (cause as NodeJS.ErrnoException).code)).toEqual(Array(3).fill("EISDIR"));
    expect(ends.map(({ message }) => message).join()).not.toContain(dir);
    await use("elsewhere");
  });

  it("the gateway does not start", async () => {
    const dir = scratch();
    writeFileSync(join(dir, "nonces"), "");
    expect((await faultOf(() => folder(dir))).fault).toBe("state-readonly");
  });

  it("and every request is refused when it has ended", async () => {
    const { nonces, refused } = await folder();
    await ended({ nonces });
    expect(await refused("one")).toBe("nonces_unavailable");
  });
});
