import { readFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, expect, it } from "vitest";
import { nextName } from "../../../../src/flows/agent/api-key.js";
import { hostNameFrom } from "../../../../src/names.js";
import { Secret } from "../../../../src/secret.js";
import { type Host, hostStore } from "../../../../src/state/hosts.js";
import { openSecrets } from "../../../../src/state/secrets.js";
import { sampleAgent } from "../../state/sample-agent.js";
import { scratchDirectories } from "../../state/scratch.js";
import { clm } from "../world.js";

const value = "5e".repeat(32);
const instance = { host: "wolf", type: "hermes", agent: "ada" };
const secret = "HERMES_API_SERVER_KEY";
const freshDirectory = scratchDirectories();
let dir: string;

beforeEach(async () => {
  dir = freshDirectory();
  // Nothing listens there: asking the host fails.
  const wolf: Host = {
    name: hostNameFrom("wolf"),
    address: "127.0.0.1",
    port: 9,
    labels: {},
    added_at: "2026-01-01T00:00:00.000Z",
    sudo: "passwordless",
    agents: { ada: sampleAgent("ada", { version: "2026.7.1" }) },
  };
  await hostStore(dir).update((fleet) => ({ ...fleet, hosts: [wolf] }));
  await openSecrets(dir).set(instance, secret, new Secret(value), "");
});

const key = (words: string[], tty?: { columns: number }) =>
  clm(["--config-dir", dir, "agent", "key", "ada", ...words], tty ? { tty } : {});
const audit = () => readFileSync(join(dir, "audit.jsonl"), "utf8");

it.each([
  [[], `${value}\n`],
  [["--header"], `Authorization: Bearer ${value}\n`],
])("is written to a pipe unchanged: %j", async (words, stdout) => {
  expect(await key(words)).toEqual({ code: 0, stdout, stderr: "" });
});

it("is in the audit log when it was shown, and the key is not", async () => {
  await key(["--header"]);
  expect(audit()).toMatch(/"verb":"agent key","target":"wolf\/ada"/);
  expect(audit()).not.toContain(value);
});

it("on a terminal it must be meant", async () => {
  const refused = await key([], { columns: 80 });
  expect([refused.code, refused.stdout]).toEqual([2, ""]);
  expect(refused.stderr).toContain("to print it here, add --show");
  expect(refused.stderr).toContain("next: clm agent key ada --show");
  expect(audit).toThrow("ENOENT");
  expect((await key(["--show"], { columns: 80 })).stdout).toBe(`${value}\n`);
});

it("is not shown in a dry run", async () => {
  expect(await key(["--dry-run"])).toEqual({ code: 0, stdout: "", stderr: "would show the key of wolf:hermes:ada\n" });
});

it("is not shown during a rotation, or when it is invalid", async () => {
  await openSecrets(dir).set(instance, nextName(secret), new Secret("ab".repeat(32)), "");
  const changing = await key([]);
  expect([changing.code, changing.stdout]).toEqual([8, ""]);
  expect(changing.stderr).toContain("next: clm agent rotate-key ada");
  await openSecrets(dir).unset(instance, nextName(secret));
  await openSecrets(dir).set(instance, secret, new Secret("not a key"), "");
  const none = await key([]);
  expect([none.code, none.stdout]).toEqual([21, ""]);
});
