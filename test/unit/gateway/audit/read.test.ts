import { rmSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { RequestLog } from "../../../../src/gateway/audit/log.js";
import { followRequestLines, lastRequestLines, readRequestLines } from "../../../../src/gateway/audit/read.js";
import { verifyRequestLog } from "../../../../src/gateway/audit/verify.js";
import { scratchDirectories } from "../../state/scratch.js";
import { call, ending } from "./calls.js";

const scratch = scratchDirectories();
const folder = () => join(scratch(), "gateway");
const upTo = (n: number, from = 1) => Array.from({ length: n - from + 1 }, (_, i) => i + from);

async function filled(count: number, maxBytes = 1500) {
  const dir = folder();
  const log = await RequestLog.open(dir, { maxBytes });
  for (let n = 1; n <= count; n++) await log.write(call(n), ending({ status: n % 2 ? 200 : 429 }));
  return { dir, log };
}

test("the last ones, of all files that are needed", async () => {
  const { dir, log } = await filled(30);
  const seqs = async (wanted: Parameters<typeof lastRequestLines>[1]) =>
    (await lastRequestLines(dir, wanted)).map(({ seq }) => seq);
  expect(await seqs({})).toEqual(upTo(30));
  for (const limit of [0, 1, 2, 7, 29, 30, 100])
    expect(await seqs({ limit })).toEqual(upTo(30).slice(30 - Math.min(limit, 30)));
  expect(await seqs({ limit: 3, matches: ({ status }) => status === 429 })).toEqual([26, 28, 30]);
  expect(await seqs({ since: Date.UTC(2026, 0, 1, 10, 0, 11) })).toEqual(upTo(30, 11));
  expect(await seqs({ since: Date.UTC(2026, 0, 1, 10, 0, 11), limit: 2 })).toEqual([29, 30]);
  expect(await seqs({ since: Date.UTC(2027, 0, 1) })).toEqual([]);
  await log.close();
});

test("a request that took long and is in a file with younger ones is found by when it was asked", async () => {
  const dir = folder();
  const log = await RequestLog.open(dir, { maxBytes: 1 });
  await log.write(call(50), ending());
  await log.write(call(10), ending({ took: 45_000 }));
  await log.write(call(51), ending());
  const found = await lastRequestLines(dir, { since: Date.UTC(2026, 0, 1, 10, 0, 50) });
  expect(found.map(({ id }) => id)).toEqual(["req-50", "req-51"]);
  await log.close();
});

test("following gives each line once and in order, through rotations", async () => {
  const { dir, log } = await filled(5);
  const stop = new AbortController();
  const seen: number[] = [];
  const following = (async () => {
    for await (const { seq } of followRequestLines(dir, { from: 4, signal: stop.signal })) {
      seen.push(seq);
      if (seq === 60) stop.abort();
    }
  })();
  for (let n = 6; n <= 60; n++) {
    await log.write(call(n), ending());
    if (n % 10 === 0) await new Promise((done) => setTimeout(done, 30));
  }
  await following;
  expect(seen).toEqual(upTo(60, 4));
  await log.close();
});

test("following can start before the log exists, and ends when aborted", async () => {
  const dir = folder();
  const stop = new AbortController();
  const lines = followRequestLines(dir, { from: 1, signal: stop.signal });
  const first = lines.next();
  const log = await RequestLog.open(dir);
  await log.write(call(1), ending());
  expect((await first).value).toMatchObject({ seq: 1, id: "req-1" });
  const next = lines.next();
  stop.abort();
  expect(await next).toEqual({ done: true, value: undefined });
  await log.close();
});

test("reading and verifying work during rotations", async () => {
  const dir = folder();
  const log = await RequestLog.open(dir, { maxBytes: 2000 });
  let writing = true;
  const writer = (async () => {
    for (let n = 1; n <= 2000; n++) await log.write(call(n), ending());
    writing = false;
  })();
  let looks = 0;
  while (writing) {
    const verdict = await verifyRequestLog(dir);
    expect(verdict).toMatchObject({ ok: true });
    let last = 0;
    for await (const { seq } of readRequestLines(dir)) {
      expect(seq).toBe(last + 1);
      last = seq;
    }
    expect(last).toBeGreaterThanOrEqual(verdict.entries);
    looks++;
  }
  await writer;
  expect(looks).toBeGreaterThan(0);
  await log.close();
});

test("verifying works while the oldest files are removed", async () => {
  const dir = folder();
  let writing = true;
  const writer = (async () => {
    for (let round = 0; round < 30; round++) {
      const log = await RequestLog.open(dir, { maxBytes: 1000, keep: 2 });
      for (let n = 1; n <= 10; n++) await log.write(call(n), ending());
      await log.close();
    }
    writing = false;
  })();
  while (writing) expect(await verifyRequestLog(dir)).toMatchObject({ ok: true });
  await writer;
  expect(await verifyRequestLog(dir)).toMatchObject({ ok: true, files: 3 });
  expect((await lastRequestLines(dir, { limit: 1 }))[0]?.seq).toBe(300);
});

test("a file that vanishes while it is read is passed over", async () => {
  const { dir, log } = await filled(20);
  const lines = readRequestLines(dir);
  expect((await lines.next()).value).toMatchObject({ seq: 1 });
  rmSync(join(dir, "audit-000000000004.jsonl"), { force: true });
  rmSync(join(dir, "audit-000000000005.jsonl"), { force: true });
  let last = 0;
  for await (const { seq } of lines) last = seq;
  expect(last).toBe(20);
  await log.close();
});
