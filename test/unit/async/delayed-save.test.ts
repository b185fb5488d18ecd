import { beforeEach, expect, it, vi } from "vitest";
import { DelayedSave } from "../../../src/async/delayed-save.js";

beforeEach(() => {
  vi.useFakeTimers();
  return () => vi.useRealTimers();
});

/** Saves that end when the test says so, each with the value at its start. */
function savesOf(failures = 0) {
  const saved: number[] = [];
  const ends: (() => void)[] = [];
  let value = 0;
  let left = failures;
  const save = new DelayedSave(async () => {
    saved.push(value);
    await new Promise<void>((end) => ends.push(end));
    if (left-- > 0) throw new Error("the disk is full");
  }, 1000);
  const change = () => {
    value++;
    save.changed();
  };
  return { save, saved, change, end: () => ends.shift()?.() };
}

const pass = (milliseconds: number) => vi.advanceTimersByTimeAsync(milliseconds);

it("saves once, a delay after the first of several changes", async () => {
  const { saved, change } = savesOf();
  change();
  await pass(600);
  change();
  await pass(399);
  expect(saved).toEqual([]);
  await pass(1);
  expect(saved).toEqual([2]);
});

it("saves a change during a save a delay after it, and never twice at once", async () => {
  const { saved, change, end } = savesOf();
  change();
  await pass(1000);
  change();
  await pass(5000);
  expect(saved).toEqual([1]);
  end();
  await pass(0);
  expect(saved).toEqual([1, 2]);
});

it("tries again after a failure", async () => {
  const { saved, change, end } = savesOf(1);
  change();
  await pass(1000);
  end();
  await pass(1000);
  expect(saved).toEqual([1, 1]);
});

it.each([
  ["before the delay is over", 500],
  ["during a save", 1000],
  ["while a second save waits for the first", 2500],
])("closed %s, saves what is not saved, and nothing afterwards", async (_, elapsed) => {
  const { save, saved, change, end } = savesOf();
  change();
  await pass(elapsed);
  change();
  await pass(elapsed);
  let closed = false;
  const closing = save.close().then(() => {
    closed = true;
  });
  for (let turn = 0; turn < 3; turn++) {
    expect(closed).toBe(false);
    await pass(0);
    end();
    await pass(0);
    if (closed) break;
  }
  await closing;
  expect(saved.at(-1)).toBe(2);
  const count = saved.length;
  change();
  await pass(5000);
  expect(saved.length).toBe(count);
});
