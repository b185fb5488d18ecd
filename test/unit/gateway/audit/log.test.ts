import { appendFileSync, readdirSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { RequestLog } from "../../../../src/gateway/audit/log.js";
import { readRequestLines } from "../../../../src/gateway/audit/read.js";
import { verifyRequestLog } from "../../../../src/gateway/audit/verify.js";
import { hashOf } from "../../../../src/state/audit/hash-chain.js";
import { scratchDirectories } from "../../state/scratch.js";
import { call, ending } from "./calls.js";

const scratch = scratchDirectories();
const folder = () => join(scratch(), "gateway");
const log = (dir: string) => join(dir, "audit.jsonl");
const head = (dir: string) => join(dir, "audit.head");
const linesOf = (dir: string, name = "audit.jsonl") => readFileSync(join(dir, name), "utf8").split("\n").slice(0, -1);
const old = (dir: string) =>
  readdirSync(dir)
    .filter((name) => name.startsWith("audit-"))
    .sort();

async function all(dir: string, from?: number) {
  const lines = [];
  for await (const line of readRequestLines(dir, from === undefined ? {} : { from })) lines.push(line);
  return lines;
}

/** Opens the log, writes lines one after the other, and closes it. */
async function written(dir: string, count: number, options: { maxBytes?: number; keep?: number } = {}) {
  const open = await RequestLog.open(dir, options);
  for (let n = 1; n <= count; n++) await open.write(call(n), ending());
  await open.close();
}

test("a request is a line with its caller, target, result and cost", async () => {
  const dir = folder();
  const open = await RequestLog.open(dir);
  await open.write(call(1, { nonce: "n".repeat(16), streamed: true }), ending());
  await open.write(
    { id: "req-2", at: 0, method: "GET", path: "/v1/models", from: "::1" },
    { status: 401, code: "missing_api_key", took: 0.126 },
  );
  const [first, second] = await all(dir);
  expect(first).toEqual({
    seq: 1,
    at: "2026-01-01T10:00:01.000Z",
    id: "req-1",
    key: { id: "abcd1234", name: "codex" },
    from: "127.0.0.1",
    method: "POST",
    path: "/v1/chat/completions",
    target: "wolf-i/ada",
    model: "ada",
    status: 200,
    tokens: { input: 12, output: 30 },
    usd: 0.002,
    ms: 41.5,
    first_ms: 8.25,
    nonce: "n".repeat(16),
    streamed: true,
    hash: expect.stringMatching(/^[0-9a-f]{64}$/),
  });
  expect(second).toEqual({
    seq: 2,
    at: "1970-01-01T00:00:00.000Z",
    id: "req-2",
    from: "::1",
    method: "GET",
    path: "/v1/models",
    status: 401,
    code: "missing_api_key",
    ms: 0.13,
    hash: expect.any(String),
  });
  expect(statSync(dir).mode & 0o777).toBe(0o700);
  expect(statSync(log(dir)).mode & 0o777).toBe(0o600);
  await open.close();
  expect(statSync(head(dir)).mode & 0o777).toBe(0o600);
});

test("lines of unknown callers are limited per minute, and the rest is counted", async () => {
  const dir = folder();
  let time = Date.UTC(2026, 0, 1);
  const open = await RequestLog.open(dir, { now: () => new Date(time) });
  const { key: _, ...nobody } = call(1);
  const numbers = await Promise.all(Array.from({ length: 150 }, () => open.write(nobody, ending({ status: 401 }))));
  expect([numbers.at(119), numbers.at(120)]).toEqual([120, undefined]);
  expect(await open.write(call(2), ending())).toBe(121);
  time += 60_000;
  expect(await open.write(nobody, ending({ status: 401 }))).toBe(122);
  await open.close();
  const counts = linesOf(dir).map((each) => JSON.parse(each).unwritten ?? 0);
  expect([counts.length, counts.reduce((sum, each) => sum + each)]).toEqual([122, 30]);
  expect((await verifyRequestLog(dir)).ok).toBe(true);
});

test("each line's hash can be made with sha256 from the line and the hash before it", async () => {
  const dir = folder();
  await written(dir, 4);
  let previous = "";
  for (const line of linesOf(dir)) {
    const body = line.replace(/,"hash":"\w+"\}$/, "");
    previous = hashOf(body, previous);
    expect(line).toBe(`${body},"hash":"${previous}"}`);
  }
  expect(JSON.parse(readFileSync(head(dir), "utf8"))).toEqual({
    seq: 4,
    hash: previous,
    after: { seq: 0, hash: "" },
  });
});

test("a caller's text is truncated, escaped, and never a gateway key", async () => {
  const dir = folder();
  const open = await RequestLog.open(dir);
  const secret = "s3cr3t-_".repeat(6).slice(0, 43);
  const pasted = `clm_abcd1234_${secret}`;
  await open.write(call(1, { model: `\n\u0000\u2028${"x".repeat(5000)}\ud800` }), ending());
  await open.write(
    call(2, { model: pasted.repeat(20), path: `/v1/${pasted}`, nonce: pasted }),
    ending({ code: pasted }),
  );
  await open.write(
    call(3, { model: `${"y".repeat(370)}${pasted}` }),
    ending({ bodies: { asked: "a".repeat(70_000), answered: `{"b":"${pasted}"}` } }),
  );
  await open.close();
  const text = readFileSync(log(dir), "utf8");
  expect(text).not.toContain(secret.slice(0, 8));
  const [first, second, third] = await all(dir);
  expect(first?.model).toHaveLength(200);
  expect(second?.path).toBe("/v1/clm_abcd1234_…");
  expect(third?.bodies?.answered).toBe(`{"b":"clm_abcd1234_…"}`);
  expect(linesOf(dir)).toHaveLength(3);
  expect(await verifyRequestLog(dir)).toMatchObject({ ok: true, entries: 3, files: 1 });
});

test("lines of one turn go out together, in the order they were given", async () => {
  const dir = folder();
  const open = await RequestLog.open(dir);
  const order: number[] = [];
  await Promise.all(
    Array.from({ length: 500 }, async (_, n) => {
      if (n % 3 === 0) await new Promise(setImmediate);
      order.push(n);
      await open.write(call(n), ending());
    }),
  );
  expect((await all(dir)).map(({ id }) => id)).toEqual(order.map((n) => `req-${n}`));
  // Also while the gateway writes.
  expect(await verifyRequestLog(dir)).toMatchObject({ ok: true, entries: 500, files: 1 });
  await open.close();
});

test("a line is in the file when it was acknowledged", async () => {
  const dir = folder();
  const open = await RequestLog.open(dir);
  for (let n = 1; n <= 20; n++) {
    await open.write(call(n), ending());
    expect(linesOf(dir)).toHaveLength(n);
  }
  await open.close();
});

test("what waits when the log is closed is written, and nothing after it", async () => {
  const dir = folder();
  const open = await RequestLog.open(dir);
  const last = open.write(call(1), ending());
  await Promise.all([open.close(), open.close(), last]);
  await expect(open.write(call(2), ending())).rejects.toMatchObject({ status: 503, code: "audit_unavailable" });
  expect(await verifyRequestLog(dir)).toMatchObject({ ok: true, entries: 1, files: 1 });
});

test("no log is a whole log", async () => {
  const dir = folder();
  expect(await verifyRequestLog(dir)).toMatchObject({ ok: true, entries: 0, files: 0 });
  expect(await all(dir)).toEqual([]);
  await written(dir, 0);
  expect(await verifyRequestLog(dir)).toMatchObject({ ok: true, entries: 0, files: 1 });
});

test("it continues at the last line", async () => {
  const dir = folder();
  for (const count of [3, 0, 2]) await written(dir, count);
  expect((await all(dir)).map(({ seq }) => seq)).toEqual([1, 2, 3, 4, 5]);
  expect(await verifyRequestLog(dir)).toMatchObject({ ok: true, entries: 5, files: 1 });
});

test("an unfinished line is cut off, and the next one records it", async () => {
  const dir = folder();
  await written(dir, 2);
  appendFileSync(log(dir), '{"seq":3,"at"');
  expect(await verifyRequestLog(dir)).toMatchObject({ ok: true, entries: 2 });
  expect(await all(dir)).toHaveLength(2);
  await written(dir, 2);
  expect((await all(dir)).map(({ seq, cut_bytes }) => [seq, cut_bytes])).toEqual([
    [1, undefined],
    [2, undefined],
    [3, 13],
    [4, undefined],
  ]);
  expect(await verifyRequestLog(dir)).toMatchObject({ ok: true, entries: 4 });
});

test("lines that the head does not know yet are taken up", async () => {
  const dir = folder();
  await written(dir, 2);
  const before = readFileSync(head(dir));
  await written(dir, 3);
  writeFileSync(head(dir), before);
  expect(await verifyRequestLog(dir)).toMatchObject({ ok: true, entries: 5 });
  await written(dir, 1);
  expect(await verifyRequestLog(dir)).toMatchObject({ ok: true, entries: 6 });
});

test("lines missing against the head stay reported", async () => {
  const dir = folder();
  await written(dir, 5);
  truncateSync(log(dir), Buffer.byteLength(linesOf(dir).slice(0, 3).join("\n")) + 1);
  expect((await verifyRequestLog(dir)).firstBad).toEqual({
    file: "audit.jsonl",
    line: 3,
    seq: 3,
    reason: "entries 4 to 5 are missing after it",
  });
  await written(dir, 2);
  expect((await verifyRequestLog(dir)).firstBad).toEqual({
    file: "audit.jsonl",
    line: 4,
    seq: 6,
    reason: "entries 4 to 5 are missing before it",
  });
});

test.each([
  ["missing", (path: string) => rmSync(path)],
  ["broken", (path: string) => writeFileSync(path, "{")],
  [
    "of another form",
    (path: string) => writeFileSync(path, JSON.stringify(JSON.parse(readFileSync(path, "utf8")), null, 1)),
  ],
])("a head that is %s is noticed, also later", async (_, spoil) => {
  const dir = folder();
  await written(dir, 2);
  spoil(head(dir));
  expect((await verifyRequestLog(dir)).firstBad?.reason).toMatch(/audit\.head is missing or unreadable/);
  await written(dir, 1);
  expect((await verifyRequestLog(dir)).firstBad).toMatchObject({
    line: 3,
    reason: expect.stringMatching(/audit\.head was lost/),
  });
});

test("a seq is never used twice, even after an invalid line", async () => {
  const dir = folder();
  await written(dir, 2);
  const before = readFileSync(head(dir));
  await written(dir, 2);
  writeFileSync(head(dir), before);
  appendFileSync(log(dir), "something\n");
  await written(dir, 1);
  expect((await all(dir)).map(({ seq }) => seq)).toEqual([1, 2, 3, 4, 5]);
  expect((await verifyRequestLog(dir)).firstBad).toMatchObject({
    line: 5,
    reason: "it is not an audit log line",
  });
});

test("a long file is rotated to the name of its first line, and the chain continues", async () => {
  const dir = folder();
  await written(dir, 20, { maxBytes: 1500 });
  const names = old(dir);
  expect(names.length).toBeGreaterThan(2);
  for (const name of names) {
    expect(name).toBe(`audit-${String(JSON.parse(linesOf(dir, name)[0] ?? "").seq).padStart(12, "0")}.jsonl`);
  }
  expect((await all(dir)).map(({ seq }) => seq)).toEqual(Array.from({ length: 20 }, (_, n) => n + 1));
  expect((await all(dir, 11)).map(({ seq }) => seq)).toEqual(Array.from({ length: 10 }, (_, n) => n + 11));
  expect(await verifyRequestLog(dir)).toMatchObject({ ok: true, entries: 20, files: names.length + 1 });
});

test("a gateway killed right after a rotation continues after the last line", async () => {
  const dir = folder();
  await written(dir, 2);
  const before = readFileSync(head(dir));
  await written(dir, 3, { maxBytes: 1600 });
  expect([old(dir).length, statSync(log(dir)).size]).toEqual([1, 0]);
  writeFileSync(head(dir), before);
  rmSync(log(dir));
  expect(await verifyRequestLog(dir)).toMatchObject({ ok: true, entries: 5 });
  await written(dir, 1);
  expect((await all(dir)).map(({ seq }) => seq)).toEqual([1, 2, 3, 4, 5, 6]);
  expect(await verifyRequestLog(dir)).toMatchObject({ ok: true, entries: 6 });
});

test.each([0, 1, 3])(
  "of the files that were put away the newest %i are kept, and nothing is missed for it",
  async (keep) => {
    const dir = folder();
    await written(dir, 40, { maxBytes: 1500, keep });
    expect(old(dir)).toHaveLength(keep);
    expect(await verifyRequestLog(dir)).toMatchObject({ ok: true, files: keep + 1 });
    // One that was to be removed when the gateway was killed.
    writeFileSync(join(dir, "audit-000000000001.jsonl"), "anything\n");
    expect((await verifyRequestLog(dir)).ok).toBe(true);
    await written(dir, 1, { maxBytes: 1500, keep });
    expect(old(dir)).toHaveLength(keep);
    expect(await verifyRequestLog(dir)).toMatchObject({ ok: true });
    const [oldest] = old(dir);
    if (oldest) {
      rmSync(join(dir, oldest));
      expect((await verifyRequestLog(dir)).firstBad?.reason).toMatch(/missing before it/);
    }
  },
);

test("a name that is taken is not written over", async () => {
  const dir = folder();
  const open = await RequestLog.open(dir, { maxBytes: 1500 });
  writeFileSync(join(dir, "audit-000000000001.jsonl"), "kept\n");
  for (let n = 1; n <= 10; n++) await open.write(call(n), ending());
  await open.close();
  expect(readFileSync(join(dir, "audit-000000000001.jsonl"), "utf8")).toBe("kept\n");
  expect(linesOf(dir)).toHaveLength(10);
});

test("lines per second (printed, not asserted)", async () => {
  const dir = folder();
  const open = await RequestLog.open(dir);
  const began = performance.now();
  for (let turn = 0; turn < 1250; turn++) {
    await Promise.all(Array.from({ length: 16 }, (_, n) => open.write(call(n), ending())));
  }
  const took = performance.now() - began;
  await open.close();
  const again = performance.now();
  const { entries } = await verifyRequestLog(dir);
  console.log(
    `audit log: ${Math.round((entries / took) * 1000)} lines/s written 16 at a time, ${Math.round((entries / (performance.now() - again)) * 1000)} lines/s verified`,
  );
  expect(entries).toBe(20_000);
});

test("nothing is written once another gateway has the log, not even pending lines", async () => {
  const dir = folder();
  let time = 0;
  let ours = true;
  const open = await RequestLog.open(dir, { now: () => new Date(time), isOurs: () => ours });
  await open.write(call(1), ending());
  const before = readFileSync(head(dir), "utf8");
  ours = false;
  const under = open.write(call(2), ending());
  // As if suspended here and resumed.
  time += 20_000;
  await expect(under).rejects.toMatchObject({ status: 503, code: "audit_unavailable" });
  expect(() => open.mustBeWritable()).toThrow("cannot write its audit log");
  ours = true;
  time += 20_000;
  await expect(open.write(call(3), ending())).rejects.toMatchObject({ code: "audit_unavailable" });
  await open.close();
  expect((await all(dir)).map(({ id }) => id)).toEqual(["req-1"]);
  expect(readFileSync(head(dir), "utf8")).toBe(before);
});
