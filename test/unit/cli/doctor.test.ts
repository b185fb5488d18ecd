import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { Check } from "../../../src/agents/check.js";
import { machineChecks } from "../../../src/agents/doctor/machine-checks.js";
import { loadType } from "../../../src/agents/manifest/registry.js";
import { checkNode } from "../../../src/flows/doctor/machine.js";
import { repairFor } from "../../../src/flows/doctor/repair.js";
import { agentNameFrom, hostNameFrom } from "../../../src/names.js";
import { Secret } from "../../../src/secret.js";
import type { AgentRecord } from "../../../src/state/agent.js";
import { hostStore } from "../../../src/state/hosts.js";
import { providerStore } from "../../../src/state/providers.js";
import { openSecrets } from "../../../src/state/secrets.js";
import { sampleAgent } from "../state/sample-agent.js";
import { scratchDirectories } from "../state/scratch.js";
import { clm } from "./world.js";

const freshDirectory = scratchDirectories();
const instance = { host: "wolf", type: "hermes", agent: "ada" };
const key = "5e".repeat(32);
let dir: string;

// Whoever is first pays for reading the manifests.
beforeAll(() => loadType("/nonexistent", "hermes"), 60_000);

beforeEach(() => {
  dir = freshDirectory();
  mkdirSync(join(dir, "bin"), { mode: 0o700 });
  for (const name of ["ssh", "ssh-keygen"]) writeFileSync(join(dir, "bin", name), "", { mode: 0o700 });
});

/** One host that does not answer, and an agent on it. */
async function fleet(more: Partial<AgentRecord> = {}): Promise<void> {
  const name = hostNameFrom("wolf");
  const wolf = { name, address: "127.0.0.1", port: 9, labels: {}, added_at: "2026-01-01T00:00:00.000Z" };
  const agents = { ada: sampleAgent("ada", more) };
  await hostStore(dir).update((known) => ({ ...known, hosts: [{ ...wolf, sudo: "root", agents }] }));
  await openSecrets(dir).set(instance, "HERMES_API_SERVER_KEY", new Secret(key), "");
}

const stamps = { added_at: "2026-01-01T00:00:00.000Z", updated_at: "2026-01-01T00:00:00.000Z" };
const addProvider = (name: string, type: string) =>
  providerStore(dir).update(({ providers }) => ({
    providers: { ...providers, [name]: { type, fields: {}, ...stamps } },
  }));

interface Row extends Check {
  about: string;
  host: string | null;
  agent: string | null;
  fixed?: boolean;
  mended?: boolean;
}

const run = (words: string[], now = () => new Date()) =>
  clm(["--config-dir", dir, ...words], { now, env: { HOME: "/nowhere", PATH: join(dir, "bin") } });

async function rows(...words: string[]): Promise<{ code: number; rows: Row[]; of: (id: string) => Row | undefined }> {
  const { code, stdout, stderr } = await run([...words, "-o", "json"]);
  expect(stdout, stderr).not.toBe("");
  const all: Row[] = JSON.parse(stdout);
  return { code, rows: all, of: (id) => all.find((each) => each.id === id) };
}

describe("this machine", () => {
  it("is well when nothing is here yet but the directory", async () => {
    const { code, rows: all } = await rows("doctor");
    expect(code).toBe(0);
    expect(all.map(({ id }) => id)).toEqual(Object.keys(machineChecks));
    expect(all.filter(({ result }) => result === "fail")).toEqual([]);
    expect(new Set(all.map(({ about }) => about))).toEqual(new Set(["machine"]));
  });

  it("reports files that others can read, and makes them private", async () => {
    await fleet();
    const secrets = join(dir, "secrets.json");
    chmodSync(secrets, 0o644);
    chmodSync(dir, 0o755);
    const first = await rows("doctor");
    expect(first.code).toBe(1);
    expect(first.of("config.files")).toMatchObject({
      result: "fail",
      reason: `${secrets} is open to others (0644)`,
      fix: `chmod 600 ${secrets}`,
    });
    expect(first.of("config.dir")?.result).toBe("fail");
    expect(first.rows.find(({ id, agent }) => id === "secrets" && agent === "ada")).toMatchObject({ result: "fail" });

    const dry = await run(["doctor", "--fix", "--dry-run"]);
    expect(dry.stderr).toContain(`would close ${dir}, ${secrets} to others`);
    expect(statSync(secrets).mode & 0o777).toBe(0o644);

    const second = await rows("doctor", "--fix");
    expect([second.of("config.files"), second.of("config.dir")]).toMatchObject([
      { result: "ok", fixed: true, mended: true },
      { result: "ok", fixed: true, mended: true },
    ]);
    expect([statSync(secrets).mode & 0o777, statSync(dir).mode & 0o777]).toEqual([0o600, 0o700]);
    expect(readFileSync(join(dir, "audit.jsonl"), "utf8")).toContain('"verb":"doctor","target":"this machine"');
  });

  it("reports unreadable state, and stops", async () => {
    writeFileSync(join(dir, "hosts.json"), "{", { mode: 0o600 });
    const { code, rows: all, of } = await rows("doctor");
    expect([code, of("config.state")?.result, of("config.providers")?.result]).toEqual([1, "fail", "skipped"]);
    expect(all.every(({ about }) => about === "machine")).toBe(true);
  });

  it("reports missing secrets and providers", async () => {
    await fleet({ provider: "gone" });
    await openSecrets(dir).set({ host: "wolf", type: "hermes", agent: "old" }, "X_KEY", new Secret("sk-orphan-1"), "");
    await openSecrets(dir).set({ provider: "older" }, "API_KEY", new Secret("sk-orphan-2"), "");
    const { of } = await rows("doctor");
    expect(of("config.secrets")).toMatchObject({ result: "warn" });
    expect(of("config.secrets")?.reason).toContain("wolf/old, provider older");
    expect(of("config.providers")).toMatchObject({ result: "fail", fix: "clm agent doctor ada" });
  });

  it("reports a lock left by a killed clm", async () => {
    const lock = join(dir, "locks", "fleet");
    mkdirSync(lock, { recursive: true, mode: 0o700 });
    writeFileSync(join(lock, "0"), "free\n");
    expect((await rows("doctor")).of("config.locks")?.result).toBe("ok");
    const { thisProcess } = await import("../../../src/state/process-id.js");
    // Of this boot, and long gone: the number is larger than any.
    const owner = { ...thisProcess(), pid: 2 ** 22 + 1, host: "x", user: "y", command: "clm host add", since: "then" };
    writeFileSync(join(lock, "3"), `held\n${JSON.stringify(owner)}\nx\n`);
    expect((await rows("doctor")).of("config.locks")).toMatchObject({
      result: "warn",
      reason: `a killed clm left 'fleet' by clm host add (pid ${owner.pid}, then)`,
    });
  });

  it("reports missing programs that its hints need", async () => {
    rmSync(join(dir, "bin", "ssh-keygen"));
    expect((await rows("doctor")).of("ssh")).toMatchObject({ result: "warn", reason: "ssh-keygen cannot be found" });
  });

  it("reports times in the future", async () => {
    await fleet();
    const { stdout } = await run(["doctor", "-o", "json"], () => new Date("2020-01-01T00:00:00Z"));
    const clock = JSON.parse(stdout).find(({ id, about }: Row) => id === "clock" && about === "machine");
    expect(clock).toMatchObject({ result: "warn" });
  });

  it("wants the Node.js that package.json names", () => {
    const { engines } = JSON.parse(readFileSync("package.json", "utf8"));
    const oldest = engines.node.replace(">=", "");
    expect(checkNode(`${oldest}.0`).result).toBe("ok");
    expect(checkNode("20.18.9").result).toBe("fail");
    expect(checkNode("22.0.0").result).toBe("ok");
  });
});

describe("an agent on an unreachable host", () => {
  it("is a check that failed, and the others are made", async () => {
    await fleet({ onboarding: { state: "ready", stages: {} } });
    const { code, rows: all, of } = await rows("agent", "doctor", "ada");
    expect(code).toBe(1);
    expect(of("host")?.reason).toMatch(/^cannot reach wolf/);
    expect(all.map(({ id, result }) => [id, result])).toEqual([
      ["host", "fail"],
      ["onboarding", "ok"],
      ["secrets", "ok"],
      ["provider", "warn"],
    ]);
  });

  it("is reported once in full by clm doctor", async () => {
    await fleet({ onboarding: { state: "ready", stages: {} } });
    const { code, stdout } = await run(["doctor"]);
    expect(code).toBe(1);
    expect(stdout).toMatch(/^wolf: 1 check, 1 failed\n {2}fail {5}ssh\.reach {2}cannot reach wolf/m);
    expect(stdout).toMatch(/^wolf\/ada: .*\n {2}fail {5}host +wolf does not answer\n +fix: clm host check wolf$/m);
    expect(stdout).toMatch(/^this machine: 9 checks, all passed$/m);
    // Who is well comes last.
    expect(stdout.indexOf("this machine")).toBeGreaterThan(stdout.indexOf("wolf/ada"));
  });

  it("shows every check when asked", async () => {
    await fleet();
    const { stdout } = await run(["agent", "doctor", "ada", "--verbose"]);
    expect(stdout).toMatch(/^ {2}ok {7}secrets +HERMES_API_SERVER_KEY is present$/m);
    expect((await run(["agent", "doctor", "ada"])).stdout).not.toContain("HERMES_API_SERVER_KEY is present");
  });

  it("is not started when a name is wrong", async () => {
    await fleet();
    const { code, stderr } = await run(["agent", "doctor", "adda"]);
    expect([code, stderr]).toEqual([4, expect.stringContaining("did you mean 'ada'?")]);
  });
});

describe("an agent's record", () => {
  const of = async (id: string) => (await rows("agent", "doctor", "ada")).of(id);

  it("shows an unfinished installation or removal", async () => {
    await fleet({ status: "installing" });
    expect(await of("onboarding")).toMatchObject({ result: "fail", fix: "clm agent install --host wolf --name ada" });
    await fleet({ status: "removing" });
    expect(await of("onboarding")).toMatchObject({ result: "fail", fix: "clm agent remove ada" });
  });

  it("lacks the key of a provider, and a channel's token", async () => {
    await fleet({ provider: "router", channels: { discord: {} } });
    await addProvider("router", "openrouter");
    expect(await of("secrets")).toMatchObject({
      result: "fail",
      reason: "API_KEY of provider router is missing; DISCORD_BOT_TOKEN is missing",
      fix: "clm provider update router --secret api_key=env:VARIABLE",
    });
    await openSecrets(dir).set({ provider: "router" }, "API_KEY", new Secret("your-api-key-here"), "");
    await openSecrets(dir).set(instance, "DISCORD_BOT_TOKEN", new Secret("tok-5e5e5e5e5e"), "");
    expect(await of("secrets")).toMatchObject({ reason: "API_KEY of provider router is only a placeholder" });
    await openSecrets(dir).set({ provider: "router" }, "API_KEY", new Secret("sk-or-5e5e5e5e"), "");
    const { stdout } = await run(["agent", "doctor", "ada", "--verbose"]);
    expect(stdout).toContain("HERMES_API_SERVER_KEY, API_KEY of provider router, DISCORD_BOT_TOKEN are present");
    for (const secret of [key, "tok-5e5e5e5e5e", "sk-or-5e5e5e5e"]) expect(stdout).not.toContain(secret);
  });

  it("has no key, or one that is being rotated", async () => {
    await fleet();
    await openSecrets(dir).set(instance, "HERMES_API_SERVER_KEY", new Secret("spoiled-key"), "");
    const spoiled = await of("secrets");
    expect(spoiled).toMatchObject({ result: "fail", fix: "clm agent rotate-key ada" });
    await openSecrets(dir).set(instance, "HERMES_API_SERVER_KEY_NEXT", new Secret(key), "");
    expect(await of("secrets")).toMatchObject({ result: "warn", fix: "clm agent rotate-key ada" });
    await openSecrets(dir).remove(instance);
    expect(await of("secrets")).toMatchObject({ result: "fail" });
    expect(existsSync(join(dir, "audit.jsonl"))).toBe(false);
  });
});

describe("repairs", () => {
  const ready = { onboarding: { state: "ready" as const, stages: {} } };
  const drift: Check = { id: "drift", result: "fail", reason: "not as configured", cause: "sync-fixes" };
  const stopped: Check = { id: "unit", result: "fail", reason: "stopped", cause: "down" };

  it.each<[about: string, record: Partial<AgentRecord>, checks: Check[], repair: string | undefined]>([
    ["nothing is wrong", ready, [], undefined],
    ["not as configured", ready, [drift, stopped], "sync"],
    ["stopped", ready, [stopped], "start"],
    ["systemd starts it again", ready, [{ id: "unit", result: "fail", reason: "activating" }], undefined],
    ["clm stopped it", { ...ready, down: true }, [stopped], undefined],
    ["clm stopped it, and it runs", { ...ready, down: true }, [{ ...stopped, result: "warn" }, drift], undefined],
    ["never configured", {}, [stopped], undefined],
    ["not all there", { ...ready, status: "installing" }, [drift], undefined],
    ["its program is gone", ready, [{ ...drift, id: "version" }, drift], undefined],
    ["what differs is lost", ready, [{ ...drift, cause: "lost" }], undefined],
    ["a stranger has its port", ready, [{ ...stopped, id: "port", cause: "foreign-listener" }, stopped], undefined],
  ])("%s", (_about, record, checks, repair) => {
    const host = { name: "wolf" } as never;
    const agent = { name: agentNameFrom("ada"), ref: "ada", host, record: sampleAgent("ada", record) };
    expect(repairFor({ about: { agent }, checks })).toBe(repair);
  });
});
