import { expect, it } from "vitest";
import { locate } from "../../../src/cli/locate.js";

it.each([
  ["agent proxy enable ada", "agent proxy enable", "ada"],
  ["agent proxy ada enable --provider nous", "agent proxy enable", "ada --provider nous"],
  ["agent runtime ada", "agent runtime status", "ada"],
  ["agent runtime ada ben codex --mirror", "agent runtime codex", "ada ben --mirror"],
  ["agent runtime --all on", "agent runtime codex", "--all"],
  ["agent runtime ada --host auto", "agent runtime status", "ada --host auto"],
  ["agent runtime codex auto", "agent runtime codex", "auto"],
  ["--config-dir runtime agent runtime ada off", "agent runtime auto", "ada"],
])("%s is %s with the arguments %s", async (typed, path, rest) => {
  const { command, rest: words } = await locate(typed.split(" "));
  expect([command?.path, words.join(" ")]).toEqual([path, rest]);
});

it.each(["agent runtime --help", "agent runtime", "agent proxy ada"])("%s names no command", async (typed) => {
  expect((await locate(typed.split(" "))).command).toBeUndefined();
});
