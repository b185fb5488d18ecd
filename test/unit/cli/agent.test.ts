import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { beforeEach, describe, expect, it } from "vitest";
import { hostNameFrom } from "../../../src/names.js";
import { Secret } from "../../../src/secret.js";
import type { AgentRecord } from "../../../src/state/agent.js";
import { type Host, hostStore } from "../../../src/state/hosts.js";
import { providerStore } from "../../../src/state/providers.js";
import { openSecrets } from "../../../src/state/secrets.js";
import { sampleAgent } from "../state/sample-agent.js";
import { scratchDirectories } from "../state/scratch.js";
import { clm } from "./world.js";

const record = (name: string, more: Partial<AgentRecord> = {}) =>
  sampleAgent(name, { version: "2026.5.7", mark: "0badcafe", ...more });

const { mark: _, ...adopted } = record("old", { port: 8648 });

// Nothing listens there: asking the host fails.
const host = (name: string, agents: Record<string, AgentRecord>): Host => ({
  name: hostNameFrom(name),
  address: "127.0.0.1",
  port: 9,
  labels: {},
  added_at: "2026-01-01T00:00:00.000Z",
  sudo: "passwordless",
  agents,
});

const freshDirectory = scratchDirectories();
let dir: string;
beforeEach(async () => {
  dir = freshDirectory();
  const hosts = [
    host("wolf", {
      ada: record("ada", {
        provider: "echo",
        fallbacks: [{ provider: "echo" }, { provider: "gone", model: "large" }],
        auxiliary: { vision: { provider: "echo", model: "eyes" } },
        onboarding: { state: "ready", stages: {} },
      }),
      ben: record("ben", { version: "2026.7.1+standin", status: "installing", port: 8643 }),
      eve: record("eve", { port: 8647, status: "removing" }),
    }),
    host("fox", {
      ada: record("ada"),
      kim: record("kim", { version: "2026.7.1", status: "installing", port: 8643 }),
      old: adopted,
    }),
    host("owl", {}),
  ];
  await hostStore(dir).update((fleet) => ({ ...fleet, hosts }));
  const at = "2026-01-01T00:00:00.000Z";
  await providerStore(dir).update((file) => ({
    ...file,
    providers: { echo: { type: "ollama", fields: {}, model: "echo-1", added_at: at, updated_at: at } },
  }));
});

const agent = (...words: string[]) => clm(["agent", ...words, "--config-dir", dir]);
const install = (...words: string[]) =>
  agent("install", ...(words.includes("--host") ? [] : ["--host", "wolf"]), ...words);

describe("clm agent list and show", () => {
  it("prints the record, with stand-ins marked", async () => {
    const { code, stdout } = await agent("list");
    expect(code).toBe(0);
    expect(stdout).toMatch(/^ada +wolf +hermes +2026\.5\.7 +8642 +echo +echo-1 +ready +installed$/m);
    expect(stdout).toMatch(/^ben +wolf +hermes +2026\.7\.1 \(stand-in\) +8643 +- +- +installing +installing$/m);
  });

  it("gives names that can be typed", async () => {
    expect((await agent("list", "-o", "name")).stdout).toBe("fox/ada\nwolf/ada\nben\neve\nkim\nold\n");
    expect((await agent("list", "--host", "fox", "-o", "name")).stdout).toBe("fox/ada\nkim\nold\n");
  });

  it.each([
    ["ben", "clm agent install --host wolf --name ben"],
    ["eve", "clm agent remove eve"],
    ["old", "clm agent configure old"],
    ["wolf/ada", "clm agent configure wolf/ada --stage validate"],
    ["fox/ada", "clm agent configure fox/ada"],
  ])("%s: names the next command: %s", async (word, next) => {
    expect((await agent("show", word)).stdout).toMatch(new RegExp(`^Next: +${next}$`, "m"));
    const { stdout } = await agent("show", word, "-o", "json");
    expect(JSON.parse(stdout)).toMatchObject({ next, type: "hermes", standin: word === "ben" });
  });

  it("one agent is one object that starts with its identity, and so is each of a list", async () => {
    const identity = ["agent", "name", "host", "type", "version", "standin", "port", "state", "status"];
    const shown = JSON.parse((await agent("show", "ben", "-o", "json")).stdout);
    expect(Object.keys(shown).slice(0, identity.length)).toEqual(identity);
    expect(shown).toMatchObject({ agent: "wolf:hermes:ben", host: "wolf", state: "installing", status: "installing" });
    const { next, ...listed } = shown;
    expect(JSON.parse((await agent("list", "-o", "json")).stdout)).toContainEqual(listed);
  });

  it("shows every model an agent has", async () => {
    const { stdout } = await agent("show", "wolf/ada");
    expect(stdout).toMatch(/^Fallbacks: +echo echo-1, gone large$/m);
    expect(stdout).toMatch(/^Auxiliary: +vision: echo eyes$/m);
  });

  it("a name that two agents have is not guessed", async () => {
    const { code, stderr } = await agent("show", "ada");
    expect(code).toBe(2);
    expect(stderr).toContain("wolf/ada, fox/ada");
  });
});

describe("clm agent install refuses before any host is asked", () => {
  const before = () => readFileSync(join(dir, "hosts.json"), "utf8");

  it.each<[string, string[], number, RegExp]>([
    ["no type", ["--name", "new"], 2, /--type is missing/],
    ["no name", ["--type", "hermes"], 2, /--name is missing/],
    ["a name that is no account's", ["--type", "hermes", "--name", "Ada L"], 2, /cannot be an agent's name/],
    ["an unknown type", ["--type", "herms", "--name", "new"], 4, /did you mean 'hermes'/],
    ["a version nobody pinned", ["--type", "hermes", "--name", "new", "--version", "2026.5.8"], 4, /is not pinned/],
    [
      "another version",
      ["--name", "ada", "--version", "2026.7.1"],
      5,
      /2026\.5\.7 is installed[\s\S]*clm agent remove wolf\/ada/,
    ],
    [
      "another version than was begun",
      ["--name", "kim", "--version", "2026.5.7", "--host", "fox"],
      5,
      /2026\.7\.1 was begun/,
    ],
    ["another port", ["--name", "ada", "--port", "9000"], 5, /clm agent configure wolf\/ada --port 9000/],
    ["one that is being removed", ["--name", "eve"], 5, /is being removed[\s\S]*clm agent remove wolf\/eve/],
    ["one that was taken over", ["--name", "old", "--host", "fox"], 5, /was taken over/],
  ])("%s", async (_, words, code, said) => {
    const was = before();
    const done = await install(...words);
    expect(done.stderr).toMatch(said);
    expect(done.code).toBe(code);
    expect(before()).toBe(was);
  });

  it("a key that was spoiled by hand, without showing it", async () => {
    const spoiled = "0123456789ABCDEF".repeat(4);
    const instance = { host: "wolf", type: "hermes", agent: "new" };
    await openSecrets(dir).set(instance, "HERMES_API_SERVER_KEY", new Secret(spoiled), "");
    const { code, stderr } = await install("--type", "hermes", "--name", "new");
    expect(code).toBe(2);
    expect(stderr).toMatch(/not 64 lowercase hex digits[\s\S]*secrets\.json[\s\S]*clm agent rotate-key wolf\/new/);
    expect(stderr).not.toContain(spoiled);
  });
});

describe("clm agent start and restart", () => {
  it("the refusal has the documented message", async () => {
    const { code, stderr } = await agent("start", "fox/ada");
    expect(code).toBe(8);
    expect(stderr).toContain(
      "Cannot start fox:hermes:ada: onboarding incomplete (state=providers). Run 'clm agent configure ada' first.",
    );
    expect((await agent("restart", "fox/ada")).code).toBe(8);
  });

  it("an incomplete agent is not started", async () => {
    expect((await agent("start", "ben")).stderr).toContain("clm agent install --host wolf --name ben");
    expect((await agent("start", "eve", "--force")).stderr).toContain("clm agent remove eve");
  });
});

describe("clm agent memory write", () => {
  it("of nothing is refused before any host is asked", async () => {
    const { code, stderr } = await agent("memory", "write", "old", "USER.md", "--from", "/dev/null");
    expect([code, stderr]).toEqual([2, expect.stringContaining("there is nothing to write to USER.md")]);
    expect(stderr).toContain("clm agent memory delete old USER.md");
  });

  it("of too much is kept for another try, but not in a dry run", async () => {
    const write = (...words: string[]) => {
      const stdin = () => new PassThrough().end("x".repeat(1376));
      return clm(["agent", "memory", "write", "old", "USER.md", ...words, "--config-dir", dir], { stdin });
    };
    const would = await write("--dry-run");
    expect([would.code, would.stderr]).toEqual([2, expect.stringContaining("1376 > 1375 chars")]);
    expect([would.stderr.includes("kept in"), existsSync(join(dir, "rejected"))]).toEqual([false, false]);
    expect((await write()).stderr).toContain(`kept in ${join(dir, "rejected")}`);
    expect(readdirSync(join(dir, "rejected"))).toHaveLength(1);
  });
});

describe("clm agent remove --forget", () => {
  it("forgets the agent and its secrets, and asks no host", async () => {
    const instance = { host: "wolf", type: "hermes", agent: "ben" };
    await openSecrets(dir).set(instance, "HERMES_API_SERVER_KEY", new Secret("f".repeat(64)), "");
    expect((await agent("remove", "ben", "--forget")).code).toBe(6);
    const would = await agent("remove", "ben", "--forget", "--dry-run", "-o", "json");
    expect(JSON.parse(would.stdout)).toMatchObject({
      agent: "wolf:hermes:ben",
      status: "installing",
      dry_run: true,
      backed_up: false,
      changes: [],
    });
    expect(openSecrets(dir).names(instance)).toHaveLength(1);
    const { code, stderr } = await agent("remove", "ben", "--forget", "--yes");
    expect([code, stderr]).toEqual([
      0,
      expect.stringMatching(
        /^ben is forgotten; nothing was changed on wolf\nmay be left there: the unit \S+, the account \S+, its home \S+\n$/,
      ),
    ]);
    expect(openSecrets(dir).names(instance)).toEqual([]);
    expect((await agent("list", "-o", "name")).stdout).not.toContain("ben");
    expect((await agent("list", "-o", "name")).stdout).toContain("eve");
  });

  it("reports the result, and the backup of an interrupted run", async () => {
    const backups = join(dir, "backups", "agents");
    mkdirSync(backups, { recursive: true });
    const path = join(backups, "wolf,eve-20260102T030405Z.tar.gz");
    execFileSync("tar", ["-C", dir, "-czf", path, "hosts.json"]);
    const { stdout, stderr } = await agent("remove", "eve", "--forget", "--yes", "-o", "json");
    expect(stderr).toContain(`its data is backed up in ${path} (1 file, without .env)\n`);
    const told = JSON.parse(stdout);
    expect(told).toMatchObject({ state: "forgotten", status: "forgotten", backed_up: true, backup: path });
    expect(told).not.toHaveProperty("dry_run");
  });
});

describe("clm host remove --forget", () => {
  it("names in a dry run every agent that is forgotten, and the names of its secrets", async () => {
    const instance = { host: "wolf", type: "hermes", agent: "ben" };
    for (const name of ["HERMES_API_SERVER_KEY", "DISCORD_BOT_TOKEN"])
      await openSecrets(dir).set(instance, name, new Secret("f".repeat(64)), "");
    const was = readFileSync(join(dir, "hosts.json"), "utf8");
    const forget = (...words: string[]) => clm(["host", "remove", "wolf", "--forget", ...words, "--config-dir", dir]);
    expect(await forget("--dry-run")).toEqual({
      code: 0,
      stdout: "",
      stderr: `would forget host wolf
would forget agent ada
would forget agent ben and its secrets HERMES_API_SERVER_KEY, DISCORD_BOT_TOKEN
would forget agent eve
`,
    });
    expect(readFileSync(join(dir, "hosts.json"), "utf8")).toBe(was);
    expect((await forget()).stderr).toContain("Forget host wolf (127.0.0.1) and its agents ada, ben, eve?");
  });
});
