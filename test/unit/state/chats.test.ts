import { existsSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { openChats } from "../../../src/state/chats.js";
import { scratchDirectories } from "./scratch.js";

const scratch = scratchDirectories();
const at = new Date("2026-01-02T03:04:05Z");

async function had(...agents: [host: string, name: string][]) {
  const chats = openChats(join(scratch(), "config"));
  for (const [host, name] of agents) await chats.set(host, name, `${host}-${name}`, at);
  return chats;
}

it("knows the last conversation with each agent", async () => {
  const chats = await had(["wolf", "ada"], ["bear", "ada"]);
  await chats.set("wolf", "ada", "another", at);
  expect([chats.get("wolf", "ada"), chats.get("bear", "ada")]).toEqual(["another", "bear-ada"]);
  expect([chats.get("wolf", "bob"), chats.get("wolf", "__proto__")]).toEqual([undefined, undefined]);
});

it("a host's conversations go with its new name, and no other's", async () => {
  const chats = await had(["wolf", "ada"], ["wolf", "bob"], ["wolf-2", "ada"]);
  await chats.renameHost("wolf", "bear");
  expect(["ada", "bob"].map((name) => chats.get("bear", name))).toEqual(["wolf-ada", "wolf-bob"]);
  expect([chats.get("wolf", "ada"), chats.get("wolf-2", "ada")]).toEqual([undefined, "wolf-2-ada"]);
});

it("forgets an agent's, or all of a host's", async () => {
  const chats = await had(["wolf", "ada"], ["wolf", "bob"], ["wolf-2", "ada"]);
  await chats.forget("wolf", "ada");
  expect([chats.get("wolf", "ada"), chats.get("wolf", "bob")]).toEqual([undefined, "wolf-bob"]);
  await chats.forget("wolf");
  expect([chats.get("wolf", "bob"), chats.get("wolf-2", "ada")]).toEqual([undefined, "wolf-2-ada"]);
});

it("makes nothing where there was no conversation", async () => {
  const dir = join(scratch(), "config");
  await openChats(dir).forget("wolf");
  await openChats(dir).renameHost("wolf", "bear");
  expect(existsSync(dir)).toBe(false);
});
