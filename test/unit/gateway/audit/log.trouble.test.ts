import { execFileSync } from "node:child_process";
import {
  appendFileSync,
  chownSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import { RequestLog } from "../../../../src/gateway/audit/log.js";
import { readRequestLines } from "../../../../src/gateway/audit/read.js";
import { verifyRequestLog } from "../../../../src/gateway/audit/verify.js";
import { bundleChild } from "../../../faults/child.js";
import { faultOf, scratchDirectories } from "../../state/scratch.js";
import { call, ending } from "./calls.js";

const scratch = scratchDirectories();
const unavailable = { status: 503, code: "audit_unavailable", retryAfter: 1 };

/** A log in a folder, and a clock that is moved by hand: it tries again when a second has passed. */
async function opened(dir = join(scratch(), "gateway"), options: { maxBytes?: number } = {}) {
  let time = Date.UTC(2026, 0, 1);
  const log = await RequestLog.open(dir, { ...options, now: () => new Date(time) });
  let n = 0;
  return {
    dir,
    log,
    write: () => log.write(call(++n), ending()),
    aSecondLater: () => {
      time += 1000;
    },
  };
}

async function seqs(dir: string) {
  const found: [number, number | undefined][] = [];
  for await (const { seq, unwritten } of readRequestLines(dir)) found.push([seq, unwritten]);
  return found;
}

describe("a file or folder that was taken away", () => {
  const ways: [what: string, take: (dir: string) => void, back: (dir: string) => void][] = [
    [
      "moved away and back",
      (dir) => renameSync(join(dir, "audit.jsonl"), join(dir, "x")),
      (dir) => renameSync(join(dir, "x"), join(dir, "audit.jsonl")),
    ],
    ["the folder moved away and back", (dir) => renameSync(dir, `${dir}.x`), (dir) => renameSync(`${dir}.x`, dir)],
    [
      "a file in the folder's place, and the folder back",
      (dir) => {
        renameSync(dir, `${dir}.x`);
        writeFileSync(dir, "");
      },
      (dir) => {
        unlinkSync(dir);
        renameSync(`${dir}.x`, dir);
      },
    ],
    [
      "a link in its place, and the file back",
      (dir) => {
        renameSync(join(dir, "audit.jsonl"), join(dir, "x"));
        symlinkSync("x", join(dir, "audit.jsonl"));
      },
      (dir) => renameSync(join(dir, "x"), join(dir, "audit.jsonl")),
    ],
  ];

  test.each(ways)("%s: refused meanwhile, and nothing is lost", async (_, take, back) => {
    const { dir, log, write, aSecondLater } = await opened();
    await write();
    take(dir);
    const refused = await Promise.allSettled([write(), write()]);
    for (const each of refused) expect(each).toMatchObject({ status: "rejected", reason: unavailable });
    expect(() => log.mustBeWritable()).toThrow(expect.objectContaining(unavailable));
    back(dir);
    // Not before a second has passed.
    expect(() => log.mustBeWritable()).toThrow(expect.objectContaining(unavailable));
    await expect(write()).rejects.toMatchObject(unavailable);
    aSecondLater();
    log.mustBeWritable();
    await write();
    await write();
    await log.close();
    expect(await seqs(dir)).toEqual([
      [1, undefined],
      [2, 3],
      [3, undefined],
    ]);
    expect(await verifyRequestLog(dir)).toMatchObject({ ok: true, entries: 3, files: 1 });
  });

  test.each<[string, (dir: string) => void]>([
    ["the file", (dir) => rmSync(join(dir, "audit.jsonl"))],
    ["the folder", (dir) => rmSync(dir, { recursive: true })],
  ])(
    "%s removed for good: refused, then it goes on, and the lines that are gone are missed for ever",
    async (_, remove) => {
      const { dir, log, write, aSecondLater } = await opened();
      await write();
      await write();
      remove(dir);
      await expect(write()).rejects.toMatchObject(unavailable);
      aSecondLater();
      await write();
      await log.close();
      const reason = "entries 1 to 2 are missing before it";
      expect((await verifyRequestLog(dir)).firstBad).toEqual({ file: "audit.jsonl", line: 1, seq: 3, reason });
      const again = await opened(dir);
      await again.write();
      await again.log.close();
      expect((await verifyRequestLog(dir)).firstBad).toMatchObject({ line: 1, reason });
    },
  );

  test("a config directory that is gone is not made again", async () => {
    const parent = scratch();
    const { log, write, aSecondLater } = await opened(join(parent, "gateway"));
    rmSync(parent, { recursive: true });
    await expect(write()).rejects.toMatchObject(unavailable);
    aSecondLater();
    await expect(write()).rejects.toMatchObject(unavailable);
    expect(() => statSync(parent)).toThrow("ENOENT");
    await log.close();
  });

  test("it is noticed before a request, too", async () => {
    const { dir, log, write, aSecondLater } = await opened();
    await write();
    renameSync(join(dir, "audit.jsonl"), join(dir, "x"));
    aSecondLater();
    expect(() => log.mustBeWritable()).toThrow(expect.objectContaining(unavailable));
    renameSync(join(dir, "x"), join(dir, "audit.jsonl"));
    aSecondLater();
    await write();
    await log.close();
    expect(await verifyRequestLog(dir)).toMatchObject({ ok: true, entries: 2 });
  });

  test("foreign lines are not overwritten, and are detected", async () => {
    const { dir, log, write } = await opened();
    await write();
    appendFileSync(join(dir, "audit.jsonl"), "something\n");
    await write();
    await log.close();
    expect(await verifyRequestLog(dir)).toMatchObject({ ok: false, entries: 3, firstBad: { line: 2 } });
  });
});

test("a log that cannot be opened is a fault, and nothing begins", async () => {
  const parent = scratch();
  mkdirSync(join(parent, "gateway"), { mode: 0o700 });
  symlinkSync("elsewhere", join(parent, "gateway", "audit.jsonl"));
  expect((await faultOf(() => RequestLog.open(join(parent, "gateway")))).message).toContain("symbolic link");
  expect((await faultOf(() => verifyRequestLog(join(parent, "gateway")))).message).toContain("symbolic link");
  writeFileSync(join(parent, "file"), "");
  expect((await faultOf(() => RequestLog.open(join(parent, "file")))).fault).toBe("state-readonly");
  expect((await faultOf(() => verifyRequestLog(join(parent, "file")))).fault).toBe("state-corrupt");
});

/** Whether file systems can be made here, so that one can be full or read-only. */
function canMount(): boolean {
  const dir = mkdtempSync(join(tmpdir(), "clm-mount-"));
  try {
    execFileSync("mount", ["-t", "tmpfs", "-o", "size=64k", "clm-test", dir], { stdio: "ignore" });
    execFileSync("umount", [dir]);
    return true;
  } catch {
    return false;
  } finally {
    rmSync(dir, { recursive: true });
  }
}

describe.skipIf(!canMount())("a file system that takes nothing more", () => {
  const mounted: string[] = [];
  afterEach(() => {
    for (const dir of mounted.splice(0)) execFileSync("umount", ["-l", dir]);
  });
  const small = () => {
    const dir = scratch();
    execFileSync("mount", ["-t", "tmpfs", "-o", "size=128k,mode=0700", "clm-test", dir]);
    mounted.push(dir);
    return dir;
  };

  test.each([1_000_000, 3000])(
    "full: what was acknowledged is there and no half of another (files of %i bytes)",
    async (maxBytes) => {
      const parent = small();
      const { dir, log, write, aSecondLater } = await opened(join(parent, "gateway"), { maxBytes });
      writeFileSync(join(parent, "ballast"), Buffer.alloc(64 * 1024));
      let acknowledged = 0;
      let why: unknown;
      while (!why && acknowledged < 1000) {
        const turn = await Promise.allSettled([write(), write(), write()]);
        acknowledged += turn.filter(({ status }) => status === "fulfilled").length;
        why = turn.find((each) => each.status === "rejected")?.reason;
      }
      expect(why).toMatchObject({ ...unavailable, message: expect.stringContaining("ENOSPC") });
      expect(await verifyRequestLog(dir)).toMatchObject({ ok: true, entries: acknowledged });
      expect(readFileSync(join(dir, "audit.jsonl"), "utf8")).toMatch(/\n$|^$/);
      // Still full a second later.
      aSecondLater();
      expect(() => log.mustBeWritable()).toThrow(expect.objectContaining(unavailable));
      rmSync(join(parent, "ballast"));
      aSecondLater();
      log.mustBeWritable();
      await write();
      await log.close();
      expect((await seqs(dir)).at(-1)).toEqual([acknowledged + 1, 3]);
      expect(await verifyRequestLog(dir)).toMatchObject({ ok: true, entries: acknowledged + 1 });
    },
  );

  test("read-only: detected when the head cannot be written, and recovers later", async () => {
    const parent = small();
    const { dir, log, write, aSecondLater } = await opened(join(parent, "gateway"));
    execFileSync("mount", ["--bind", parent, parent]);
    mounted.unshift(parent);
    execFileSync("mount", ["-o", "remount,ro,bind", parent]);
    // An already open file can still be written.
    await write();
    await vi.waitFor(() => expect(() => log.mustBeWritable()).toThrow(expect.objectContaining(unavailable)), 30_000);
    aSecondLater();
    await expect(write()).rejects.toMatchObject({ ...unavailable, message: expect.stringContaining("EROFS") });
    execFileSync("mount", ["-o", "remount,rw,bind", parent]);
    aSecondLater();
    await write();
    await log.close();
    expect(await seqs(dir)).toEqual([
      [1, undefined],
      [2, 1],
    ]);
    expect(await verifyRequestLog(dir)).toMatchObject({ ok: true, entries: 2 });
  });
});

describe("another process that writes", () => {
  let child: Awaited<ReturnType<typeof bundleChild>>;
  beforeAll(async () => {
    child = await bundleChild("test/unit/gateway/audit/writer.ts");
  });
  afterEach(() => child.killAll());
  afterAll(() => child.remove());

  test("kill -9 loses nothing that was acknowledged", async () => {
    const dir = join(scratch(), "gateway");
    let acknowledged = 0;
    for (let round = 0; round < 5; round++) {
      const writer = child.start(["churn", dir]);
      await writer.says(`acknowledged ${30 + 60 * round}`);
      // Its reports while it writes are checked, too.
      expect(await verifyRequestLog(dir)).toMatchObject({ ok: true });
      writer.process.kill("SIGKILL");
      await writer.ended;
      acknowledged += Number(writer.said.at(-1)?.split(" ")[1]);
      const verdict = await verifyRequestLog(dir);
      expect(verdict).toMatchObject({ ok: true });
      expect(verdict.entries).toBeGreaterThanOrEqual(acknowledged);
      acknowledged = verdict.entries;
    }
    expect((await verifyRequestLog(dir)).files).toBeGreaterThan(2);
  });

  const asRoot = process.getuid?.() === 0;
  test.each([
    ["a folder that lost its rights", "rights", "EACCES"],
    ["a file that may not grow", "limit", "EFBIG"],
  ])("%s: refused, then it recovers", async (_, mode, code) => {
    const parent = scratch();
    // Root may do everything.
    const nobody = asRoot ? { uid: 65534, gid: 65534 } : {};
    if (asRoot && mode === "rights") chownSync(parent, 65534, 65534);
    const dir = join(parent, "gateway");
    const writer = child.start([mode, dir], mode === "rights" ? nobody : {});
    expect(await writer.ended).toBe(0);
    const refused = expect.stringMatching(new RegExp(`^audit_unavailable .*${code}`));
    expect(writer.said).toEqual(["written", refused, refused, refused, "written"]);
    expect(await seqs(dir)).toEqual([
      [1, undefined],
      [2, 3],
    ]);
    expect(await verifyRequestLog(dir)).toMatchObject({ ok: true, entries: 2, files: 1 });
  });
});
