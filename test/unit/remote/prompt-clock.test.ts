import { setTimeout as sleep } from "node:timers/promises";
import { expect, it } from "vitest";
import { Fault } from "../../../src/errors.js";
import { PromptClock } from "../../../src/remote/prompt-clock.js";

const late = () => new Fault("remote-timeout", "late");

it("a deadline ends with its fault, unless it was cancelled", async () => {
  const clock = new PromptClock();
  const [over, stopped] = [clock.deadline(30, late), clock.deadline(30, late)];
  stopped.stop();
  await sleep(100);
  expect([over.signal.aborted, stopped.signal.aborted]).toEqual([true, false]);
  expect(over.signal.reason).toMatchObject({ fault: "remote-timeout" });
  expect(over.left()).toBe(0);
});

it("time spent in prompts does not count, for deadlines started before or during it", async () => {
  const clock = new PromptClock();
  const before = clock.deadline(60, late);
  let answer: (text: string) => void = () => {};
  const { password } = clock.wrap({ password: () => new Promise<string>((resolve) => (answer = resolve)) });
  const asked = password();
  const meanwhile = clock.deadline(60, late);
  await sleep(150);
  expect([before.signal.aborted, meanwhile.signal.aborted]).toEqual([false, false]);
  answer("x");
  expect(await asked).toBe("x");
  await sleep(150);
  expect([before.signal.aborted, meanwhile.signal.aborted]).toEqual([true, true]);
});

it("a failed prompt lets the clock continue", async () => {
  const clock = new PromptClock();
  const deadline = clock.deadline(30, late);
  await expect(clock.whileAsking(Promise.reject(new Error("no")))).rejects.toThrow("no");
  await sleep(100);
  expect(deadline.signal.aborted).toBe(true);
});
