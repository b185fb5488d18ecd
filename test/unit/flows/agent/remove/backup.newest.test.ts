import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { newestBackup } from "../../../../../src/flows/agent/remove/backup.js";
import { hostNameFrom } from "../../../../../src/names.js";
import { type Agent, findAgent } from "../../../../../src/state/agents.js";
import { sampleAgent } from "../../../state/sample-agent.js";
import { scratchDirectories } from "../../../state/scratch.js";

const scratch = scratchDirectories();

function ada(installed_at?: string): Agent {
  const record = sampleAgent("ada", installed_at ? { installed_at } : {});
  const name = hostNameFrom("wolf");
  const host = { name, address: "192.0.2.1", labels: {}, added_at: "2026", sudo: "root" as const };
  return findAgent({ hosts: [{ ...host, agents: { ada: record } }] }, "ada");
}

const all = [
  "wolf,ada-20260101T000000Z.tar.gz",
  "wolf,ada-20260301T000000Z.tar.gz",
  "wolf,ada-20260201T000000Z.tar.gz",
  "wolf,ada-b-20260501T000000Z.tar.gz",
  "fox,ada-20260601T000000Z.tar.gz",
  "wolf-ada,b-20260501T000000Z.tar.gz",
  ".wolf,ada-20260701T000000Z.tar.gz~1",
];

it.each<[string, string[], string | undefined, string | undefined]>([
  ["the newest of its own", all, undefined, all[1]],
  ["one since it was installed", all, "2026-02-15T10:00:00.123Z", all[1]],
  ["none of another that had its name", all, "2026-04-01T00:00:00.000Z", undefined],
  ["none where there is none", [], undefined, undefined],
])("%s", async (_, files, installed, found) => {
  const configDir = scratch();
  const directory = join(configDir, "backups", "agents");
  mkdirSync(directory, { recursive: true });
  writeFileSync(join(configDir, "MEMORY.md"), "tea");
  for (const file of files) execFileSync("tar", ["-C", configDir, "-czf", join(directory, file), "MEMORY.md"]);
  expect(await newestBackup(configDir, ada(installed))).toEqual(
    found && { path: join(directory, found), members: ["MEMORY.md"] },
  );
});

it("none that is spoiled, nor where no directory is", async () => {
  const configDir = scratch();
  expect(await newestBackup(configDir, ada())).toBeUndefined();
  mkdirSync(join(configDir, "backups", "agents"), { recursive: true });
  writeFileSync(join(configDir, "backups", "agents", all[0] ?? ""), "<html>");
  expect(await newestBackup(configDir, ada())).toBeUndefined();
});
