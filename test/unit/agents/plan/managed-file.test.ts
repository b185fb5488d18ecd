import { describe, expect, it } from "vitest";
import { type ManagedFile, unwantedFiles } from "../../../../src/agents/plan/managed-file.js";

const file = (id: string): ManagedFile => ({
  id,
  path: `/home/bot/app/${id}`,
  mode: 0o600,
  restarts: true,
  content: { merge: "whole", text: "" },
});

describe("files that are no longer wanted", () => {
  const bot = "/home/bot/app/bot.py";

  it.each<[string, Record<string, string[]>, string[], string[]]>([
    ["nothing was written", {}, ["bot.py"], []],
    ["it is still wanted", { "bot.py": [bot] }, ["bot.py"], []],
    ["it is not named any more", { "bot.py": [bot], "lib.py": ["/lib.py"] }, ["lib.py"], [bot]],
    ["nothing is named any more", { "bot.py": [bot], "lib.py": ["/lib.py"] }, [], [bot, "/lib.py"]],
    ["clm owned only names in it", { env: ["PORT", "TOKEN"], config: ["model.default"] }, [], []],
    ["it has the name of a member of every object", { constructor: ["/x"] }, ["toString"], ["/x"]],
  ])("when %s", (_about, owned, wanted, expected) => {
    expect(unwantedFiles(owned, wanted.map(file))).toEqual(expected);
  });
});
