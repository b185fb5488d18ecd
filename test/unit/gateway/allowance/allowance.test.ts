import fc from "fast-check";
import { beforeEach, describe, expect, it, vi } from "vitest";
import type { ModelFacts } from "../../../../src/agents/manifest/models.js";
import { Allowance, type Reservation } from "../../../../src/gateway/allowance/allowance.js";
import { Refusal } from "../../../../src/gateway/request/refusal.js";
import { sampleKey } from "../keys/sample-key.js";
import { usageInMemory } from "./no-usage.js";

const prices: Record<string, ModelFacts> = { dear: { input: 1000, output: 1000 }, free: { input: 0, output: 0 } };
const models = () => ({ of: (_type: string, model: string) => prices[model] });
const still = new AbortController().signal;
const asked = (more = {}) => ({ target: "lab-1/ada", model: "dear", input: 100, ...more });
const tokens = (input: number, output = 0) => ({ input, output });
/** The model `dear` costs a tenth of a cent for each token. */
const usd = (count: number) => count / 1000;

let now: Date;
let usage: ReturnType<typeof usageInMemory>;
let allowance: Allowance;

const open = (timeout?: number) =>
  new Allowance({ models, usage, now: () => now, ...(timeout !== undefined && { timeout }) });

beforeEach(() => {
  now = new Date("2026-11-16T12:00:00Z");
  usage = usageInMemory();
  allowance = open();
});

/** What becomes of a request, as far as that is known now. */
function watch(turn: Promise<Reservation>) {
  const seen: { reservation?: Reservation; refusal?: Refusal; why?: unknown } = {};
  turn.then(
    (reservation) => {
      seen.reservation = reservation;
    },
    (why) => {
      seen.why = why;
      if (why instanceof Refusal) seen.refusal = why;
    },
  );
  return seen;
}

const turns = () => new Promise<void>((done) => setImmediate(done));
const refusalOf = async (work: Promise<unknown>): Promise<Refusal> => {
  const why = await work.then(
    () => undefined,
    (error: unknown) => error,
  );
  if (why instanceof Refusal) return why;
  throw why ?? new Error("was not refused");
};

describe("requests a minute", () => {
  it("are counted, and the refusal has a retry time", async () => {
    const key = sampleKey({ rpm: 2 });
    allowance.count(key);
    now = new Date("2026-11-16T12:00:10.5Z");
    allowance.count(key);
    const refusal = await refusalOf((async () => allowance.count(key))());
    expect([refusal.status, refusal.code, refusal.retryAfter]).toEqual([429, "rate_limit_exceeded", 50]);
    now = new Date("2026-11-16T12:01:00Z");
    allowance.count(key);
  });

  it("of one key are not another's", () => {
    allowance.count(sampleKey({ rpm: 1 }));
    allowance.count(sampleKey({ rpm: 1, id: "other001" }));
  });
});

describe("a limit", () => {
  it("that is used up refuses at once with the time of its reset", async () => {
    const key = sampleKey({ tokens_per_day: 100 });
    (await allowance.reserve(key, asked(), still)).settle(tokens(60, 40));
    const refusal = await refusalOf(allowance.reserve(key, asked(), still));
    expect([refusal.status, refusal.code, refusal.retryAfter]).toEqual([429, "tokens_per_day_exceeded", 12 * 3600]);
    expect(refusal.message).toContain("2026-11-17T00:00Z");
  });

  it.each([
    ["day", 12 * 3600, "2026-11-17T00:00Z"],
    ["month", (14 * 24 + 12) * 3600, "2026-12-01T00:00Z"],
    ["ever", undefined, "clm gateway key create"],
  ] as const)("of money for a %s", async (per, retryAfter, told) => {
    const key = sampleKey({ budget: { usd: 1, per } });
    expect((await allowance.reserve(key, asked(), still)).settle(tokens(500, 500))).toEqual({ usd: 1 });
    const refusal = await refusalOf(allowance.reserve(key, asked(), still));
    expect([refusal.status, refusal.code, refusal.retryAfter]).toEqual([429, "insufficient_quota", retryAfter]);
    expect(refusal.message).toContain(told);
  });

  it("is reset at its time", async () => {
    const spent = (period: string) => ({ tokens: period === "2026-11-16" ? 100 : 0, nano: 0 });
    allowance = new Allowance({ models, usage: { ...usage, spent: (_key, period) => spent(period) }, now: () => now });
    const key = sampleKey({ tokens_per_day: 100 });
    await refusalOf(allowance.reserve(key, asked(), still));
    now = new Date("2026-11-17T00:00:00Z");
    await allowance.reserve(key, asked(), still);
  });

  it("of money needs a price", async () => {
    const key = sampleKey({ budget: { usd: 1, per: "day" } });
    const refusal = await refusalOf(allowance.reserve(key, asked({ model: "new-one" }), still));
    expect([refusal.status, refusal.code]).toEqual([403, "price_unknown"]);
    expect(refusal.message).toMatch(/new-one.*models\.yaml/);
    const without = await allowance.reserve(sampleKey(), asked({ model: "new-one" }), still);
    expect(without.settle(tokens(5))).toEqual({});
  });

  it("of money does not stop what costs nothing", async () => {
    const key = sampleKey({ budget: { usd: 1, per: "ever" } });
    (await allowance.reserve(key, asked(), still)).settle(tokens(2000));
    await refusalOf(allowance.reserve(key, asked(), still));
    const free = await Promise.all([1, 2, 3].map(() => allowance.reserve(key, asked({ model: "free" }), still)));
    expect(free.map((each) => each.settle(tokens(9)))).toEqual(Array(3).fill({ usd: 0 }));
  });
});

describe("at the same time", () => {
  it("the first call holds all that is left, and the others wait for it in their order", async () => {
    const key = sampleKey({ tokens_per_day: 100_000 });
    const first = await allowance.reserve(key, asked(), still);
    const others = [1, 2, 3].map(() => watch(allowance.reserve(key, asked(), still)));
    await turns();
    expect(others.map((each) => each.reservation)).toEqual([undefined, undefined, undefined]);
    first.settle(tokens(20_000));
    await turns();
    // Each reserves 40,000 now, and one begins while anything is left.
    expect(others.map((each) => each.reservation !== undefined)).toEqual([true, true, false]);
  });

  it("a target that was called before the gateway was started again is known", async () => {
    const key = sampleKey({ tokens_per_day: 100_000 });
    usage.take({ seq: 1, at: now.getTime(), key, target: asked().target, status: 200, tokens: tokens(20_000) });
    const both = [1, 2].map(() => watch(allowance.reserve(key, asked(), still)));
    await turns();
    expect(both.map((each) => each.reservation !== undefined)).toEqual([true, true]);
  });

  it("a small call after that makes no large one forgotten", async () => {
    const key = sampleKey({ tokens_per_day: 100_000 });
    usage.take({
      seq: 1,
      at: now.getTime() - 86_400_000,
      key,
      target: asked().target,
      status: 200,
      tokens: tokens(50_000),
    });
    (await allowance.reserve(key, asked(), still)).settle(tokens(20));
    const two = [1, 2].map(() => watch(allowance.reserve(key, asked(), still)));
    await turns();
    expect(two.map((each) => each.reservation !== undefined)).toEqual([true, false]);
  });

  it("a release returns the whole reservation", async () => {
    const key = sampleKey({ tokens_per_day: 100 });
    const first = await allowance.reserve(key, asked(), still);
    const next = watch(allowance.reserve(key, asked(), still));
    first.release();
    await turns();
    expect([next.reservation !== undefined, usage.owed().tokens]).toEqual([true, 0]);
  });

  it("a reservation ends once", async () => {
    const key = sampleKey({ tokens_per_day: 1000 });
    const first = await allowance.reserve(key, asked(), still);
    first.settle(tokens(10));
    first.settle(tokens(10));
    first.release();
    expect(usage.owed().tokens).toBe(10);
    const second = await allowance.reserve(key, asked({ input: 0, output: 990 }), still);
    const third = watch(allowance.reserve(key, asked(), still));
    await turns();
    expect(third.reservation).toBeUndefined();
    second.release();
  });

  it("a caller that leaves is dropped from the queue, and blocks no other", async () => {
    const key = sampleKey({ tokens_per_day: 100 });
    const first = await allowance.reserve(key, asked(), still);
    const leaving = new AbortController();
    const gone = watch(allowance.reserve(key, asked(), leaving.signal));
    const next = watch(allowance.reserve(key, asked(), still));
    leaving.abort(new Error("left"));
    await turns();
    expect(gone.why).toEqual(new Error("left"));
    first.release();
    await turns();
    expect(next.reservation).toBeDefined();
  });

  it("every wait ends", async () => {
    vi.useFakeTimers();
    try {
      allowance = open(60_000);
      const key = sampleKey({ budget: { usd: 1, per: "day" } });
      await allowance.reserve(key, asked(), still);
      const waiting = refusalOf(allowance.reserve(key, asked(), still));
      await vi.advanceTimersByTimeAsync(60_000);
      const { status, code, retryAfter, message } = await waiting;
      expect([status, code, retryAfter]).toEqual([429, "insufficient_quota", 5]);
      expect(message).toContain("within 60 s");
    } finally {
      vi.useRealTimers();
    }
  });

  it("waiting requests are refused when the limit is used up meanwhile", async () => {
    const key = sampleKey({ tokens_per_day: 100 });
    const first = await allowance.reserve(key, asked(), still);
    const others = [1, 2].map(() => watch(allowance.reserve(key, asked(), still)));
    first.settle(tokens(100));
    await turns();
    expect(others.map(({ refusal }) => refusal?.code)).toEqual(Array(2).fill("tokens_per_day_exceeded"));
  });

  it("a call that costs more than any before makes those under way reserve for as much", async () => {
    const key = sampleKey({ tokens_per_day: 10_000 });
    (await allowance.reserve(key, asked({ output: 10 }), still)).settle(tokens(10));
    const both = await Promise.all([1, 2].map(() => allowance.reserve(key, asked({ output: 10 }), still)));
    both[0]?.settle(tokens(5000));
    const next = watch(allowance.reserve(key, asked({ output: 10 }), still));
    await turns();
    expect(next.reservation).toBeUndefined();
    both[1]?.settle(tokens(10));
    await turns();
    expect(next.reservation).toBeDefined();
  });

  it("a hundred at the limit overspend by one call at most", async () => {
    const key = sampleKey({ budget: { usd: usd(1050), per: "day" } });
    (await allowance.reserve(key, asked({ output: 1 }), still)).settle(tokens(100));
    const hundred = Array.from({ length: 100 }, () => watch(allowance.reserve(key, asked({ output: 1 }), still)));
    for (let round = 0; round < 100; round++) {
      await turns();
      hundred.find(({ reservation }) => reservation)?.reservation?.settle(tokens(100));
      for (const each of hundred) if (each.reservation) each.reservation.settle(tokens(100));
    }
    expect(hundred.filter(({ refusal }) => refusal?.code === "insufficient_quota").length).toBeGreaterThan(80);
    expect(usage.owed().tokens).toBeGreaterThanOrEqual(1050);
    expect(usage.owed().tokens).toBeLessThanOrEqual(1050 + 100);
  });
});

type Step =
  | { kind: "ask"; target: number; cost: number }
  | { kind: "end"; which: number }
  | { kind: "drop"; which: number };

const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 3, arbitrary: fc.record({ kind: fc.constant("ask" as const), target: fc.nat(2), cost: fc.nat(1000) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("end" as const), which: fc.nat(50) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("drop" as const), which: fc.nat(50) }) },
);

it("in any order: at most one call over the limit, and no request is forgotten", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(step, { maxLength: 80 }),
      fc.integer({ min: 1, max: 5000 }),
      fc.constantFrom("tokens", "money"),
      async (steps, limit, kind) => {
        usage = usageInMemory();
        allowance = open();
        const key = sampleKey(
          kind === "tokens" ? { tokens_per_day: limit } : { budget: { usd: usd(limit), per: "ever" } },
        );
        const calls: { cost: number; ended?: true; seen: ReturnType<typeof watch>; leave: AbortController }[] = [];
        let largest = 0;
        const end = (call: (typeof calls)[number] | undefined, failed: boolean) => {
          if (!call?.seen.reservation || call.ended) return;
          call.ended = true;
          if (failed) call.seen.reservation.release();
          else {
            largest = Math.max(largest, call.cost);
            call.seen.reservation.settle(tokens(call.cost));
          }
        };
        for (const each of steps) {
          if (each.kind === "ask") {
            const leave = new AbortController();
            // No call costs more than its maximum.
            const wish = { target: `lab-1/a${each.target}`, model: "dear", input: 0, output: each.cost };
            calls.push({ cost: each.cost, leave, seen: watch(allowance.reserve(key, wish, leave.signal)) });
          } else if (each.kind === "end") end(calls[each.which % calls.length], each.which % 5 === 0);
          else calls[each.which % calls.length]?.leave.abort(new Error("left"));
          await turns();
        }
        for (let open = calls.length; open >= 0; open--) {
          for (const call of calls) end(call, false);
          await turns();
        }
        const over = usage.owed().tokens - limit;
        expect(over).toBeLessThanOrEqual(largest);
        for (const { seen } of calls) expect(seen.reservation ?? seen.why).toBeDefined();
      },
    ),
    { numRuns: 150 },
  );
});

describe("history stored at the agent", () => {
  const ids = { session: "s" };
  const small = (more = {}) => asked({ input: 1, output: 1, ...more });
  const held = async (key: ReturnType<typeof sampleKey>, wishes: object[]) => {
    const turns200 = wishes.map((more) => watch(allowance.reserve(key, small(more), still)));
    await turns();
    return turns200.map(({ reservation }) => reservation !== undefined);
  };
  let key: ReturnType<typeof sampleKey>;
  beforeEach(async () => {
    key = sampleKey({ tokens_per_day: 100_000 });
    (await allowance.reserve(key, small(), still)).settle(tokens(10));
  });

  it("counts twice where it is known", async () => {
    (await allowance.reserve(key, small({ ids }), still)).settle(tokens(20_000));
    expect(await held(key, [{ ids }, { ids }, { ids }])).toEqual([true, true, false]);
  });

  it("is all that is left where it is not known", async () => {
    expect(await held(key, [{ ids: { session: "other" } }, {}])).toEqual([true, false]);
  });

  it("is the model's window where that is known", async () => {
    prices.wide = { input: 0, output: 0, context: 40_000 };
    const wide = { model: "wide", ids: { session: "other" } };
    expect(await held(key, [wide, wide, wide, wide])).toEqual([true, true, true, false]);
  });

  it("is known by the ids that the agent gave its answer", async () => {
    const first = await allowance.reserve(key, small(), still);
    first.settle(tokens(10), { took: 0, ids: { previousResponse: "resp_1" } });
    expect(await held(key, [{ ids: { previousResponse: "resp_1" } }, {}])).toEqual([true, true]);
  });

  it("is part of the estimated cost of a call", async () => {
    (await allowance.reserve(key, small({ ids }), still)).settle(tokens(20_000));
    expect((await allowance.reserve(key, small({ ids }), still)).history).toBe(20_000);
    // One that is not known is taken for as large as the largest call.
    expect((await allowance.reserve(key, small({ ids: { session: "other" } }), still)).history).toBe(20_000);
  });

  it("is not learned of an estimate", async () => {
    (await allowance.reserve(key, small({ ids }), still)).settle({ ...tokens(5), estimated: true });
    expect(await held(key, [{ ids }, {}])).toEqual([true, false]);
  });
});

it("no more calls of a key with a limit are under way at once than it may have", async () => {
  vi.useFakeTimers();
  try {
    for (const [more, most] of [[{}, 8] as const, [{ concurrency: 2 }, 2] as const]) {
      allowance = open(60_000);
      const key = sampleKey({ tokens_per_day: 1e9, ...more });
      (await allowance.reserve(key, asked(), still)).settle(tokens(1));
      const many = Array.from({ length: 12 }, () => watch(allowance.reserve(key, asked(), still)));
      await vi.advanceTimersByTimeAsync(1);
      expect(many.filter(({ reservation }) => reservation)).toHaveLength(most);
      many[0]?.reservation?.settle(tokens(1));
      await vi.advanceTimersByTimeAsync(1);
      expect(many.filter(({ reservation }) => reservation)).toHaveLength(most + 1);
      await vi.advanceTimersByTimeAsync(60_000);
      expect(many.at(-1)?.refusal).toMatchObject({ status: 429, code: "concurrency_exceeded", retryAfter: 5 });
    }
  } finally {
    vi.useRealTimers();
  }
});
