import { readdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, it, vi } from "vitest";
import {
  dayOf,
  nanoOf,
  sumOf,
  Tally,
  type UsageLine,
  type UsageRow,
} from "../../../../src/gateway/allowance/totals.js";
import { type Lines, readUsage, Usage } from "../../../../src/gateway/allowance/usage.js";
import { readUsageFile } from "../../../../src/gateway/allowance/usage-file.js";
import { RequestLog } from "../../../../src/gateway/audit/log.js";
import { readRequestLines } from "../../../../src/gateway/audit/read.js";
import { faultOf, scratchDirectories } from "../../state/scratch.js";
import { sampleKey } from "../keys/sample-key.js";

const directory = scratchDirectories();

const line = (seq: number, more: Partial<UsageLine> = {}): UsageLine => ({
  seq,
  at: "2026-11-16T12:00:00.000Z",
  key: { id: "abcd1234" },
  target: "lab-1/ada",
  status: 200,
  tokens: { input: 10, output: 5 },
  usd: 0.25,
  ...more,
});

/** A log in memory: the gateway's lines, whether its totals were saved or not. */
const logOf = (lines: UsageLine[]): Lines =>
  async function* (from) {
    for (const each of lines) if (each.seq >= from) yield each;
  };

const totals = (rows: UsageRow[]) => sumOf(rows);

describe("totals", () => {
  it("are of a day, a key and a target", () => {
    const tally = new Tally();
    for (const each of [
      line(1),
      line(2, { status: 502 }),
      line(3, { at: "2026-11-17T00:00:00Z" }),
      { seq: 4, at: "2026-11-17T01:00:00Z", status: 401 },
    ]) {
      tally.take(each);
    }
    const row = { key: "abcd1234", target: "lab-1/ada", most_tokens: 15, most_nano: 250_000_000 };
    const none = { key: "-", target: "-", most_tokens: 0, most_nano: 0 };
    expect(tally.rows()).toEqual([
      { day: "2026-11-16", ...row, requests: 2, errors: 1, input: 20, output: 10, nano: 500_000_000 },
      { day: "2026-11-17", ...row, requests: 1, errors: 0, input: 10, output: 5, nano: 250_000_000 },
      { day: "2026-11-17", ...none, requests: 1, errors: 1, input: 0, output: 0, nano: 0 },
    ]);
    expect(tally.seq).toBe(4);
    expect(
      ["2026-11-16", "2026-11", "ever", "2026-12"].map((period) => tally.spent("abcd1234", period).tokens),
    ).toEqual([30, 45, 45, 0]);
  });

  it("of days long ago are one, and money spent then is still spent", () => {
    const tally = new Tally();
    const day = (n: number) => new Date(Date.UTC(2026, 0, 1 + n)).toISOString();
    for (let n = 0; n < 410; n++) tally.take(line(n + 1, { at: day(n) }));
    const days = tally.rows().map((row) => row.day);
    expect([days.length, days.includes("before")]).toEqual([401, true]);
    expect(tally.rows().find((row) => row.day === "before")?.requests).toBe(10);
    expect(tally.spent("abcd1234", "ever").nano).toBe(410 * nanoOf(0.25));
    const again = new Tally(tally.seq, tally.rows());
    expect([again.spent("abcd1234", "ever"), totals(again.rows())]).toEqual([
      tally.spent("abcd1234", "ever"),
      totals(tally.rows()),
    ]);
  });

  const lines = fc.array(
    fc.record({
      at: fc.date({ min: new Date("2026-01-01"), max: new Date("2028-01-01"), noInvalidDate: true }),
      key: fc.option(fc.constantFrom("aaaa0000", "bbbb1111", "cccc2222"), { nil: undefined }),
      target: fc.option(fc.constantFrom("lab-1/ada", "lab-2/ada", "lab-1/ada/proxy"), { nil: undefined }),
      status: fc.constantFrom(200, 401, 502),
      input: fc.nat(10_000),
      output: fc.nat(10_000),
      nano: fc.nat(1_000_000_000),
    }),
    { maxLength: 60 },
  );

  it("have the same sums by key, by target and by day", () => {
    fc.assert(
      fc.property(lines, (all) => {
        const tally = new Tally();
        all.forEach(({ at, key, target, status, input, output, nano }, index) => {
          const known = { ...(key && { key: { id: key } }), ...(target && { target }) };
          tally.take({
            seq: index + 1,
            at: at.getTime(),
            ...known,
            status,
            tokens: { input, output },
            usd: nano / 1e9,
          });
        });
        const rows = tally.rows();
        const sums = (["key", "target", "day"] as const).map((by) =>
          sumOf([...new Set(rows.map((row) => row[by]))].map((each) => sumOf(rows.filter((row) => row[by] === each)))),
        );
        const asked = {
          requests: all.length,
          errors: all.filter(({ status }) => status >= 400).length,
          input: all.reduce((sum, each) => sum + each.input, 0),
          output: all.reduce((sum, each) => sum + each.output, 0),
          nano: all.reduce((sum, each) => sum + each.nano, 0),
        };
        expect([sumOf(rows), ...sums]).toEqual(Array(4).fill(asked));
        const ever = [...new Set(rows.map(({ key }) => key))].map((key) => tally.spent(key, "ever").nano);
        expect(ever.reduce((sum, each) => sum + each, 0)).toBe(asked.nano);
        expect(JSON.parse(tally.json())).toEqual(rows);
      }),
    );
  });
});

describe("saved totals", () => {
  it("continue after the log was removed, and start again", async () => {
    const dir = directory();
    const before = await Usage.open(dir, { lines: logOf([]) });
    for (let seq = 1; seq <= 5; seq++) before.take(line(seq));
    await before.close();
    const after = await Usage.open(dir, { lines: logOf([]), last: 0 });
    after.take(line(1));
    await after.close();
    expect(readUsageFile(dir).seq).toBe(1);
    expect(totals((await readUsage(dir, logOf([line(1), line(2)]))).rows()).requests).toBe(7);
  });

  it("has the largest call of a key on each target", async () => {
    const dir = directory();
    const usage = await Usage.open(dir, { lines: logOf([]) });
    for (const [seq, input] of [10, 300, 20].entries()) usage.take(line(seq + 1, { tokens: { input, output: 5 } }));
    await usage.close();
    const again = await Usage.open(dir, { lines: logOf([]) });
    expect(again.largest("abcd1234", "lab-1/ada")).toEqual({ tokens: 305, nano: 250_000_000 });
    expect(again.largest("abcd1234", "lab-1/ben")).toBeUndefined();
    await again.close();
  });

  it("is closed to others, and there again at the next start", async () => {
    const dir = directory();
    const log = [line(1), line(2)];
    const usage = await Usage.open(dir, { lines: logOf([]) });
    for (const each of log) usage.take(each);
    await usage.close();
    expect(readdirSync(dir)).toEqual(["usage.json"]);
    expect(statSync(join(dir, "usage.json")).mode & 0o777).toBe(0o600);
    const again = await Usage.open(dir, { lines: logOf(log) });
    expect(again.spent("abcd1234", "2026-11-16")).toEqual({ tokens: 30, nano: 500_000_000 });
    await again.close();
  });

  it("is restored, however large", async () => {
    const dir = directory();
    const usage = await Usage.open(dir, { lines: logOf([]) });
    for (const seq of [1, 2]) usage.take(line(seq, { tokens: { input: 1e9, output: 1e9 }, usd: 8_000_000 }));
    await usage.close();
    expect(readUsageFile(dir).rows).toMatchObject([{ requests: 2, nano: 1.6e16 }]);
  });

  it("is saved by itself, a while after the first line", async () => {
    const dir = directory();
    const usage = await Usage.open(dir, { lines: logOf([]), pause: 1 });
    usage.take(line(1));
    await vi.waitFor(() => expect(readUsageFile(dir).seq).toBe(1));
    usage.take(line(2));
    await vi.waitFor(() => expect(readUsageFile(dir).seq).toBe(2));
    await usage.close();
  });

  it("killed at any moment, nothing is lost and nothing counted twice", async () => {
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 0, max: 30 }), fc.nat(30), async (written, saved) => {
        const dir = directory();
        const log = Array.from({ length: written }, (_, index) => line(index + 1));
        const first = await Usage.open(dir, { lines: logOf([]) });
        for (const each of log.slice(0, saved)) first.take(each);
        await first.close();
        // The rest was written, and the gateway killed before it saved again.
        const rows = (await readUsage(dir, logOf(log))).rows();
        expect(totals(rows).requests).toBe(written);
        const second = await Usage.open(dir, { lines: logOf(log) });
        expect(totals(second.rows())).toEqual(totals(rows));
        await second.close();
        expect(totals((await readUsage(dir, logOf(log))).rows())).toEqual(totals(rows));
      }),
      { numRuns: 30 },
    );
  });

  it("equal the real log, including lines that were never saved", async () => {
    const dir = join(directory(), "gateway");
    const lines: Lines = (from) => readRequestLines(dir, { from });
    const log = await RequestLog.open(dir, { maxBytes: 2000 });
    const call = { id: "r", method: "POST", path: "/v1/chat/completions", from: "127.0.0.1", target: "lab-1/ada" };
    const write = () =>
      log.write(
        { ...call, at: Date.parse("2026-11-16T12:00:00Z"), key: sampleKey() },
        { status: 200, tokens: { input: 10, output: 5 }, usd: 0.25, took: 3 },
      );
    const usage = await Usage.open(dir, { lines });
    for (let n = 0; n < 10; n++) usage.take(line((await write()) ?? 0));
    await usage.close();
    for (let n = 0; n < 10; n++) await write();
    // Killed here: ten lines are in usage.json, twenty in the log, which began new files meanwhile.
    expect(readUsageFile(dir).seq).toBe(10);
    const again = await Usage.open(dir, { lines });
    expect(again.spent("abcd1234", "2026-11-16")).toEqual({ tokens: 300, nano: nanoOf(5) });
    await again.close();
    await log.close();
  });

  it.each(["{", "[]", '{"seq":1}', '{"seq":1,"rows":[{"day":"x"}]}'])(
    "is named when it is damaged: %s",
    async (text) => {
      const dir = directory();
      writeFileSync(join(dir, "usage.json"), text, { mode: 0o600 });
      const fault = await faultOf(() => readUsage(dir, logOf([])));
      expect([fault.fault, fault.message.includes(join(dir, "usage.json"))]).toEqual(["state-corrupt", true]);
    },
  );
});

describe("completed requests not yet in the log", () => {
  it("counts already, and once", async () => {
    const usage = await Usage.open(directory(), { lines: logOf([]) });
    const spent = () => usage.spent("abcd1234", dayOf("2026-11-16T12:00:00Z"));
    usage.addUnlogged("abcd1234", { tokens: 15, nano: nanoOf(0.25) });
    expect(spent()).toEqual({ tokens: 15, nano: 250_000_000 });
    usage.take(line(1));
    expect(spent()).toEqual({ tokens: 15, nano: 250_000_000 });
    expect(usage.spent("other000", "ever")).toEqual({ tokens: 0, nano: 0 });
    await usage.close();
  });

  it("cost from the log line is subtracted exactly", async () => {
    const usage = await Usage.open(directory(), { lines: logOf([]) });
    for (let seq = 1; seq <= 300; seq++) {
      const nano = seq * 333_331 + 7;
      usage.addUnlogged("abcd1234", { tokens: seq, nano });
      usage.take(
        line(seq, { at: "2020-01-01T00:00:00Z", tokens: { input: seq, output: 0 }, usd: JSON.parse(`${nano / 1e9}`) }),
      );
    }
    // All of it was of another day.
    expect(usage.spent("abcd1234", "2026-11-16")).toEqual({ tokens: 0, nano: 0 });
    await usage.close();
  });
});
