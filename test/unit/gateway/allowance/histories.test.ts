import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { Histories } from "../../../../src/gateway/allowance/histories.js";
import { scratchDirectories } from "../../state/scratch.js";

const scratch = scratchDirectories();
const owner = { key: "aaaaaaaa", target: "lab-1/ada" };

it("knows the size of a call by each of its ids", () => {
  const histories = new Histories();
  expect(histories.of(owner, {})).toBe(0);
  expect(histories.of(owner, { session: "s" })).toBeUndefined();
  histories.learn(owner, { session: "s", conversation: "c" }, 500);
  expect(histories.of(owner, { session: "s" })).toBe(500);
  expect(histories.of(owner, { conversation: "c" })).toBe(500);
  histories.learn(owner, { session: "s" }, 900);
  expect(histories.of(owner, { session: "s", conversation: "c" })).toBe(1400);
});

it.each([
  ["another key's", { ...owner, key: "bbbbbbbb" }, { session: "s" }],
  ["another agent's", { ...owner, target: "lab-1/ben" }, { session: "s" }],
  ["of another kind", owner, { conversation: "s" }],
  ["another's beside one that is known", owner, { session: "s", previousResponse: "r" }],
])("does not know a history that is %s", (_about, other, ids) => {
  const histories = new Histories();
  histories.learn(owner, { session: "s" }, 500);
  expect(histories.of(other, ids)).toBeUndefined();
});

it("takes an idempotency key and a session key for no history", () => {
  expect(new Histories().of(owner, { idempotencyKey: "i", sessionKey: "k" })).toBe(0);
});

it("drops the least recently used", () => {
  const histories = new Histories({ most: 2 });
  for (const session of ["a", "b"]) histories.learn(owner, { session }, 1);
  histories.of(owner, { session: "a" });
  histories.learn(owner, { session: "c" }, 1);
  expect(["a", "b", "c"].map((session) => histories.of(owner, { session }))).toEqual([1, undefined, 1]);
});

it("knows them again after the gateway was stopped, and keeps no id", async () => {
  const dir = scratch();
  const before = new Histories({ dir });
  before.learn(owner, { session: "a-session-with-a-name" }, 500);
  await before.close();
  expect(readFileSync(join(dir, "histories.json"), "utf8")).not.toContain("a-session-with-a-name");
  expect(new Histories({ dir }).of(owner, { session: "a-session-with-a-name" })).toBe(500);
});

it("saves by itself", async () => {
  const dir = scratch();
  const running = new Histories({ dir, pause: 5 });
  running.learn(owner, { session: "s" }, 500);
  while (new Histories({ dir }).of(owner, { session: "s" }) !== 500) await new Promise((r) => setTimeout(r, 5));
  await running.close();
});

it.each(["", "{", "[]", "null", '{"sessions":5}', '{"sessions":[["a",-1],["b"],5,["c",1e400]]}'])(
  "begins with none when its file is damaged: %s",
  async (text) => {
    const dir = scratch();
    writeFileSync(join(dir, "histories.json"), text, { mode: 0o600 });
    const histories = new Histories({ dir });
    histories.learn(owner, { session: "s" }, 500);
    await histories.close();
    expect(new Histories({ dir }).of(owner, { session: "s" })).toBe(500);
  },
);
