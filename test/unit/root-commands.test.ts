import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { asAgent } from "../../src/agents/plan/account.js";

const sources = readdirSync("src", { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".ts"));

/** In a directory of the agent's a link may lead root anywhere. */
it("no command for a person does anything to a file as root", () => {
  const found = sources.flatMap((name) =>
    readFileSync(join("src", name), "utf8")
      .split("\n")
      .filter((line) => /--sudo -- (ls|cat|mv|cp|rm|chown|chmod|tar|find|head|less|vi|nano)\b/.test(line))
      .map((line) => `${name}: ${line.trim()}`),
  );
  expect(found).toEqual([]);
});

it("an agent's files are read with the agent's rights", () => {
  expect(asAgent({ host: "wolf-i", user: "ada" }, ["ls", "-la", "/home/ada/it's"])).toBe(
    "clm host exec wolf-i --sudo -- runuser -u ada -- ls -la '/home/ada/it'\\''s'",
  );
});
