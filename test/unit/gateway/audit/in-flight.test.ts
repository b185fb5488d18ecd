import { readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { RequestLog } from "../../../../src/gateway/audit/log.js";
import { readRequestLines } from "../../../../src/gateway/audit/read.js";
import { verifyRequestLog } from "../../../../src/gateway/audit/verify.js";
import { scratchDirectories } from "../../state/scratch.js";
import { call, ending, key } from "./calls.js";

const scratch = scratchDirectories();
const folder = () => join(scratch(), "gateway");
const file = (dir: string) => join(dir, "under-way.jsonl");
const sent = (n: number) => ({ call: call(n), tokens: { input: 7, output: 1024 }, usd: 0.25 });

async function lines(dir: string) {
  const all = [];
  for await (const line of readRequestLines(dir)) all.push(line);
  return all;
}

it("requests interrupted by a kill are logged at the next start, once", async () => {
  const dir = folder();
  const killed = await RequestLog.open(dir);
  for (const n of [1, 2, 3]) killed.sent(sent(n));
  await killed.write(call(2), ending());
  // It is killed here: nothing is closed.
  const next = await RequestLog.open(dir);
  expect(next.last).toBe(3);
  // On the disk and in the head, which shows when lines are cut off, before their calls leave the other file.
  expect(JSON.parse(readFileSync(join(dir, "audit.head"), "utf8"))).toMatchObject({ seq: 3 });
  await next.close();
  await (await RequestLog.open(dir)).close();
  expect(await lines(dir)).toMatchObject([
    { seq: 1, id: "req-2", status: 200 },
    {
      seq: 2,
      id: "req-1",
      status: 500,
      code: "gateway_killed",
      key: { id: key.id, name: key.name },
      target: "wolf-i/ada",
      model: "ada",
      tokens: { input: 7, output: 1024, estimated: true },
      usd: 0.25,
    },
    { seq: 3, id: "req-3", code: "gateway_killed" },
  ]);
  expect((await verifyRequestLog(dir)).ok).toBe(true);
});

it("killed between a line and the end of its request, there is no second line", async () => {
  const dir = folder();
  const killed = await RequestLog.open(dir);
  killed.sent(sent(1));
  const text = readFileSync(file(dir));
  await killed.write(call(1), ending());
  await killed.close();
  writeFileSync(file(dir), text);
  await (await RequestLog.open(dir)).close();
  expect((await lines(dir)).map(({ id }) => id)).toEqual(["req-1"]);
});

it.each([
  ["half an entry", (text: string) => `${text}\n{"after":0,"call":{"id":"req-9"`],
  ["an entry behind half of one", (text: string) => `\n{"after":0,"ca${text}`],
  ["something else", (text: string) => `\nnull\n[]\n{"call":5}\n{"call":{"id":"req-8"},"after":0}${text}`],
])("%s does not hide the rest", async (_what, changed) => {
  const dir = folder();
  (await RequestLog.open(dir)).sent(sent(1));
  writeFileSync(file(dir), changed(readFileSync(file(dir), "utf8")));
  await (await RequestLog.open(dir)).close();
  expect((await lines(dir)).map(({ id }) => id)).toEqual(["req-1"]);
});

it("a completed request never reappears, even if its line is gone", async () => {
  const dir = folder();
  const killed = await RequestLog.open(dir);
  for (const n of [1, 2, 3]) killed.sent(sent(n));
  for (const n of [1, 3]) await killed.write(call(n), ending());
  rmSync(join(dir, "audit.jsonl"));
  await (await RequestLog.open(dir)).close();
  expect((await lines(dir)).map(({ id }) => id)).toEqual(["req-2"]);
});

it("a gateway that lost its place takes nothing from its successor", async () => {
  const dir = folder();
  const before = await RequestLog.open(dir);
  before.sent(sent(1));
  const after = await RequestLog.open(dir);
  after.sent(sent(2));
  await before.write(call(1), ending()).catch(() => {});
  expect(readFileSync(file(dir), "utf8")).toContain("req-2");
});

it("a removed and recreated folder has the running requests", async () => {
  const dir = folder();
  let time = Date.UTC(2026, 0, 1);
  const log = await RequestLog.open(dir, { now: () => new Date(time) });
  log.sent(sent(1));
  rmSync(dir, { recursive: true });
  for (let tries = 0; tries < 5; tries++) {
    time += 2000;
    try {
      log.mustBeWritable();
    } catch {
      // It is detected first, and then repaired.
    }
  }
  log.sent(sent(2));
  expect(readFileSync(file(dir), "utf8")).toMatch(/req-1[\s\S]*req-2/);
});

it("an emptied file is written from the start", async () => {
  const dir = folder();
  const log = await RequestLog.open(dir);
  for (const n of [1, 2, 3]) {
    log.sent(sent(n));
    await log.write(call(n), ending());
  }
  log.sent(sent(4));
  expect(readFileSync(file(dir), "utf8")).toMatch(/^\n\{"after":3,.*\}$/);
});

it("a request whose line could not be written is logged at the next start", async () => {
  const dir = folder();
  let time = Date.UTC(2026, 0, 1);
  const killed = await RequestLog.open(dir, { now: () => new Date(time) });
  killed.sent(sent(1));
  renameSync(join(dir, "audit.jsonl"), join(dir, "moved"));
  time += 2000;
  await expect(killed.write(call(1), ending())).rejects.toMatchObject({ code: "audit_unavailable" });
  renameSync(join(dir, "moved"), join(dir, "audit.jsonl"));
  await (await RequestLog.open(dir)).close();
  const [line, ...more] = await lines(dir);
  expect([line?.id, line?.unwritten, more]).toEqual(["req-1", undefined, []]);
});

it("holds only running requests, with mode 0600", async () => {
  const dir = folder();
  const log = await RequestLog.open(dir);
  let largest = 0;
  for (let n = 0; n < 2000; n++) {
    log.sent(sent(n));
    largest = Math.max(largest, statSync(file(dir)).size);
    if (n % 10 === 0) continue;
    await log.write(call(n), ending());
  }
  for (let n = 0; n < 2000; n += 10) await log.write(call(n), ending());
  expect(largest).toBeGreaterThan(10_000);
  expect(statSync(file(dir)).size).toBe(0);
  expect(statSync(file(dir)).mode & 0o777).toBe(0o600);
  expect(readFileSync(file(dir), "utf8")).not.toContain(key.hash);
  await log.close();
  await (await RequestLog.open(dir)).close();
  expect(await lines(dir)).toHaveLength(2000);
  expect(statSync(file(dir)).size).toBe(0);
});
