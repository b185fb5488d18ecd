import { afterEach, describe, expect, it, vi } from "vitest";
import { FairQueue, type Leave } from "../../../../src/gateway/exchange/fair-queue.js";
import { LoopShare } from "../../../../src/gateway/exchange/loop-share.js";
import { PendingRequests } from "../../../../src/gateway/exchange/pending-requests.js";
import { Refusal } from "../../../../src/gateway/request/refusal.js";

const still = new AbortController().signal;
const keyOf = (id: string, concurrency?: number) => ({
  id,
  name: id,
  ...(concurrency !== undefined && { concurrency }),
});
const turn = () => new Promise<void>((done) => setImmediate(done));

afterEach(() => vi.useRealTimers());

/** Calls by name, in the order in which they begin. */
function calls(queue: FairQueue) {
  const begun: string[] = [];
  const leaves = new Map<string, Leave>();
  const call = (name: string, concurrency?: number, target = "ada") => {
    const entered = queue.enter(target, keyOf(name.slice(0, 1), concurrency), still);
    const begin = (leave: Leave) => {
      begun.push(name);
      leaves.set(name, leave);
    };
    if (entered instanceof Promise) entered.then(begin, () => {});
    else begin(entered);
  };
  const leave = async (name: string) => {
    leaves.get(name)?.();
    await turn();
  };
  return { begun, call, leave };
}

describe("a fair queue", () => {
  it("lets keys take turns, however many calls each of them has", async () => {
    const { begun, call, leave } = calls(new FairQueue({ slots: 1 }));
    for (const name of ["a1", "a2", "a3", "a4", "b1", "b2", "c1"]) call(name);
    for (let at = 0; at < 7; at++) await leave(begun[at] ?? "");
    expect(begun).toEqual(["a1", "a2", "b1", "c1", "a3", "b2", "a4"]);
  });

  it("keeps a key to its own number, and gives the others the rest", async () => {
    const { begun, call, leave } = calls(new FairQueue({ slots: 3, perKey: 2 }));
    for (const name of ["a1", "a2", "a3", "b1", "b2"]) call(name);
    expect(begun).toEqual(["a1", "a2", "b1"]);
    await leave("b1");
    expect(begun).toEqual(["a1", "a2", "b1", "b2"]);
    await leave("a1");
    await leave("a1");
    expect(begun).toEqual(["a1", "a2", "b1", "b2", "a3"]);
  });

  it("keeps agents apart", () => {
    const { begun, call } = calls(new FairQueue({ slots: 1 }));
    call("a1", undefined, "ada");
    call("a2", undefined, "ben");
    expect(begun).toEqual(["a1", "a2"]);
  });

  it("drops callers that leave while waiting", async () => {
    const queue = new FairQueue({ slots: 1 });
    const first = queue.enter("ada", keyOf("a"), still) as Leave;
    const leaving = new AbortController();
    const gone = queue.enter("ada", keyOf("a"), leaving.signal);
    const next = queue.enter("ada", keyOf("b"), still);
    leaving.abort(new Error("left"));
    await expect(gone).rejects.toThrow("left");
    first();
    (await next)();
    expect(queue.enter("ada", keyOf("c"), still)).toBeTypeOf("function");
  });

  it.each([
    ["the agent is busy with others", 5, [503, "agent_busy", 5]],
    ["the key has as many as it may have", 1, [429, "concurrency_exceeded", 5]],
  ] as const)("ends every wait: %s", async (_about, concurrency, refused) => {
    vi.useFakeTimers();
    const queue = new FairQueue({ slots: 1, timeout: 1000 });
    queue.enter("ada", keyOf(concurrency === 1 ? "a" : "b"), still);
    const waiting = queue.enter("ada", keyOf("a", concurrency), still) as Promise<Leave>;
    const why = waiting.catch((error: unknown) => error);
    await vi.advanceTimersByTimeAsync(1000);
    const refusal = (await why) as Refusal;
    expect([refusal.status, refusal.code, refusal.retryAfter]).toEqual(refused);
  });
});

describe("what waits in memory", () => {
  it("is no more than a key may have, and is given back once", () => {
    const pending = new PendingRequests({ requests: 2, bytes: 100, bytesOfAll: 150 });
    const first = pending.enter("a", 60);
    expect(() => pending.enter("a", 41)).toThrow(Refusal);
    const second = pending.enter("a", 40);
    expect(() => pending.enter("a", 0)).toThrow(Refusal);
    expect(() => pending.enter("b", 51)).toThrow("The gateway is full");
    pending.enter("b", 50);
    first.resize(10);
    second.leave();
    second.leave();
    second.resize(1000);
    pending.enter("a", 90);
  });

  it("has room for one request, however large", () => {
    const pending = new PendingRequests({ requests: 1, bytes: 10, bytesOfAll: 10 });
    pending.enter("a", 100).leave();
    pending.enter("a", 100);
  });
});

it("an agent rests for as long as it took more than its share", () => {
  let now = 0;
  const share = new LoopShare({ share: 0.25, burst: 50, now: () => now });
  expect(share.used("ada", 50)).toBe(0);
  expect(share.used("ada", 10)).toBe(40);
  expect(share.used("ben", 10)).toBe(0);
  now = 40;
  expect(share.used("ada", 1)).toBe(4);
  now = 10_000;
  expect(share.used("ada", 50)).toBe(0);
});
