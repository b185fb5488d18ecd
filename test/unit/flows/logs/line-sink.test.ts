import { setImmediate as turn } from "node:timers/promises";
import { expect, it } from "vitest";
import { LineSink } from "../../../../src/flows/logs/line-sink.js";

/** A reader that takes one item at a time. */
function reader() {
  const seen: number[] = [];
  const takes: (() => void)[] = [];
  const take = (number: number) => {
    seen.push(number);
    return new Promise<void>((resolve) => takes.push(resolve));
  };
  return { seen, take, next: () => takes.shift()?.() };
}

const state = async (promise: Promise<void> | undefined): Promise<string> => {
  let how = promise ? "waits" : "free";
  promise?.then(() => {
    how = "free";
  });
  await turn();
  return how;
};

it("tells one after the other, and has room when all was taken", async () => {
  const { seen, take, next } = reader();
  const out = new LineSink(take, new AbortController().signal);
  expect(out.drained()).toBeUndefined();
  out.push(1);
  out.push(2);
  const room = out.drained();
  expect([await state(room), seen]).toEqual(["waits", [1]]);
  next();
  expect([await state(room), seen]).toEqual(["waits", [1, 2]]);
  next();
  expect(await state(room)).toBe("free");
  expect(out.drained()).toBeUndefined();
  await out.close();
});

it("keeps nobody waiting when somebody says stop and nothing is taken", async () => {
  const { seen, take, next } = reader();
  const stop = new AbortController();
  const out = new LineSink(take, stop.signal);
  out.push(1);
  out.push(2);
  const room = out.drained();
  const closed = out.close();
  stop.abort();
  expect(await state(room)).toBe("free");
  await closed;
  next();
  await turn();
  expect(seen).toEqual([1]);
});
