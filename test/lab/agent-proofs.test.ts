import { spawn } from "node:child_process";
import { beforeAll, describe, expect, it } from "vitest";
import { misbehave, unitOf } from "./agents.js";
import { clm, inHost, program } from "./clm.js";
import { labFixture } from "./fixture.js";

// The proofs of an agent whose model, channels or MCP servers are slow or down.

const host = "trial-1";
const versions = [
  ["0.13", "petra", "2026.5.7+standin"],
  ["0.18", "pavel", "2026.7.1+standin"],
] as const;
const token = { PROOF_TOKEN: "MTIzNDU2Nzg5MDEyMzQ1Njc4.GpRoOf.proof_token_that_must_never_show_up00" };
const discord = [
  "--channel",
  "discord",
  "--set",
  "discord.allowed_users=123456789012345678",
  "--secret",
  "discord.token=env:PROOF_TOKEN",
];
const atlassian = [
  ...["--mcp", "atlassian", "--set", "atlassian.url=https://acme.test", "--set", "atlassian.username=ada"],
  ...["--secret", "atlassian.api_token=env:PROOF_TOKEN"],
];

const lab = labFixture({ agents: versions.map(([, name, version]) => ({ host, name, version })) });
const { home } = lab;
beforeAll(async () => {
  const echo = ["--type", "ollama", "--endpoint", "http://127.0.0.1:4180", "--model"];
  await lab.must("provider", "add", "slow", ...echo, "slow-10");
  await lab.must("provider", "add", "broken", ...echo, "fail-1");
});

interface Proof {
  id: string;
  result: string;
  reason: string;
}

async function configure(name: string, ...words: string[]) {
  const args = ["agent", "configure", name, "--no-test", ...words, "-o", "json"];
  const { code, stdout, stderr } = await clm(args, { home, env: token });
  expect(stdout, stderr).not.toBe("");
  const { state, proofs }: { state: string; proofs: Proof[] } = JSON.parse(stdout);
  const failed = proofs.filter(({ result }) => result === "fail");
  return { code, state, proofs, failed, proof: (id: string) => proofs.find((each) => each.id === id) };
}

const validate = (name: string) => configure(name, "--stage", "validate");

const psOf = async (name: string) => JSON.parse((await clm(["ps", name, "-o", "json"], { home })).stdout)[0];

const checksOf = async (name: string): Promise<Map<string, Proof & { fix: string | null }>> => {
  const { stdout } = await clm(["agent", "doctor", name, "-o", "json"], { home });
  return new Map(JSON.parse(stdout).map((row: Proof & { fix: string | null }) => [row.id, row]));
};

describe.each(versions)("%s", (version, name) => {
  const old = version === "0.13";

  it("with a model that takes 10 s is proven, each proof in time", async () => {
    const { code, state, proofs } = await configure(name, "--provider", "slow");
    expect([code, state, proofs.filter(({ result }) => result !== "ok")]).toEqual([0, "ready", []]);
    const damage = `sed -i '/^API_SERVER_ENABLED=/d' /home/${name}/.hermes/.env`;
    await inHost(host, damage);
    await lab.must("agent", "sync", name);
  });

  it("is asked in a session that no list, search, export or handoff shows", async () => {
    const { stdout } = await lab.must("agent", "sessions", "list", name, "-o", "json");
    expect(JSON.parse(stdout)).toEqual([]);
    const found = await lab.must("agent", "sessions", "search", name, "OK", "-o", "json");
    expect(JSON.parse(found.stdout)).toEqual([]);
    const other = versions.find(([, each]) => each !== name)?.[1] ?? "";
    const handed = await clm(["handoff", name, other, "--yes"], { home });
    expect([handed.code === 0, handed.stderr]).toEqual([false, expect.stringContaining("has had no conversation yet")]);
    const rows = "SELECT count(*) FROM sessions WHERE id LIKE 'clm-proof-%' AND source = 'api_server'";
    const count = `python3 -c "import sqlite3;print(sqlite3.connect('file:/home/${name}/.hermes/state.db?mode=ro', uri=True).execute(\\"${rows}\\").fetchone()[0])"`;
    expect(Number(await inHost(host, count))).toBeGreaterThan(0);
  });

  it("reports no error while healthy, although it logs warnings at each start and wrong key", async () => {
    expect((await configure(name, "--provider", "echo")).state).toBe("ready");
    const log = await inHost(host, `cat /home/${name}/.hermes/logs/errors.log`);
    expect(log).toContain("No user allowlists configured");
    expect(log).toContain("API server rejected invalid API key");
    expect(log).toContain("Temporary failure in name resolution");
    expect(await psOf(name)).toMatchObject({ state: "running", last_error: null });
  });

  it("whose model fails stays ready with a warning, is proven again by the next configure, and restarts", async () => {
    await misbehave(host, name, "dead-upstream");
    const first = await validate(name);
    expect([first.code, first.state, first.failed.map(({ id }) => id)]).toEqual([1, "ready", ["chat"]]);
    expect(await psOf(name)).toMatchObject({
      state: "degraded",
      reason: expect.stringMatching(/its model did not answer \d+ s ago: no answer from the model/),
    });
    expect((await checksOf(name)).get("chat")).toMatchObject({
      result: "fail",
      fix: `clm agent configure ${name} --stage validate`,
    });
    const again = await configure(name);
    expect([again.code, again.proof("chat")?.result]).toEqual([1, "fail"]);
    await lab.must("agent", "restart", name);
    await lab.must("agent", "stop", name);
    await lab.must("agent", "start", name);
    await misbehave(host, name, "");
    const well = await configure(name);
    expect([well.code, well.state, well.proof("chat")?.result]).toEqual([0, "ready", "ok"]);
    expect((await psOf(name)).state).toBe("running");
  });

  it("fails with the reason of the failure itself, not of an unrelated log line", async () => {
    await misbehave(host, name, "say Error code: 401 - Incorrect API key provided");
    const { failed } = await configure(name, "--provider", "broken");
    expect(failed.map(({ id }) => id)).toEqual(["chat"]);
    expect(failed[0]?.reason).toContain("HTTP 500");
    expect(failed[0]?.reason).not.toMatch(/refuses the key|resolve names|name resolution/);
    await misbehave(host, name, "");
    expect((await configure(name, "--provider", "echo")).state).toBe("ready");
  });

  it("with a channel that cannot log in is not ready; ps and doctor agree", async () => {
    await misbehave(host, name, "channel-refused discord");
    const { code, state, failed } = await configure(name, ...discord);
    expect([code, state, failed.map(({ id }) => id)]).toEqual([1, "validate", ["channels"]]);
    const how = `discord is ${old ? "retrying" : "fatal"}: Improper token has been passed.`;
    expect(failed[0]?.reason).toBe(`${how}; Discord refuses the bot's token`);
    expect(await psOf(name)).toMatchObject({ state: "degraded", reason: expect.stringContaining(how) });
    expect((await checksOf(name)).get("channel.discord")).toMatchObject({
      result: "fail",
      reason: how.replace("discord", "it"),
      fix: `clm agent configure ${name} --stage channels`,
    });
  });

  it("is healthy again without the channel, whose entry is still in its file", async () => {
    const { code, state } = await configure(name, "--without-channel", "discord");
    expect([code, state]).toEqual([0, "ready"]);
    const file = JSON.parse(await inHost(host, `cat /home/${name}/.hermes/gateway_state.json`));
    expect(file.platforms.discord.state).toBe(old ? "retrying" : "fatal");
    expect(await psOf(name)).toMatchObject({ state: "running", channels_total: 0 });
    expect((await checksOf(name)).has("channel.discord")).toBe(false);
  });

  it("with a dead MCP server is not ready; ps and doctor agree", async () => {
    await misbehave(host, name, "mcp-dead atlassian");
    const { code, failed } = await configure(name, ...atlassian);
    expect([code, failed.map(({ id }) => id)]).toEqual([1, ["mcp"]]);
    const why = "failed initial connection after 3 attempts, giving up: Connection closed";
    expect(failed[0]?.reason).toBe(`MCP server atlassian: ${why}`);
    expect(await psOf(name)).toMatchObject({ state: "degraded", reason: expect.stringContaining(why) });
    expect((await checksOf(name)).get("mcp.atlassian")).toMatchObject({ result: "fail", reason: why });
    await misbehave(host, name, "");
    expect((await validate(name)).state).toBe("ready");
    expect((await psOf(name)).state).toBe("running");
  });

  it("with a hanging call is stopped by --now", async () => {
    const key = `$(sed -n 's/^API_SERVER_KEY=//p' /home/${name}/.hermes/.env | tr -d \\"\\')`;
    const port = `$(sed -n 's/^API_SERVER_PORT=//p' /home/${name}/.hermes/.env | tr -d \\"\\')`;
    const body = '{"messages":[{"role":"user","content":"think for 300 seconds"}]}';
    const hang = `systemd-run -q --collect curl -s -H "Authorization: Bearer ${key}" -d '${body}' http://127.0.0.1:${port}/v1/chat/completions; sleep 1`;
    await inHost(host, hang);
    if (old) {
      const { stderr, code } = await stopUntilTold(name);
      expect([code === 0, stderr]).toEqual([
        false,
        expect.stringContaining("finishes the model calls that are running"),
      ]);
      expect(stderr).toContain(`clm agent stop ${name} --now`);
    }
    const began = Date.now();
    await lab.must("agent", "stop", name, "--now");
    expect(Date.now() - began).toBeLessThan(60_000);
    expect(await inHost(host, `systemctl is-active ${unitOf(name)} || true`)).toBe("inactive\n");
    await lab.must("agent", "start", name);
    await lab.must("agent", "restart", name, "--now");
  });
});

/** Stops an agent, and presses Ctrl-C when clm reports what it waits for. */
function stopUntilTold(name: string): Promise<{ code: number | null; stderr: string }> {
  return new Promise((done) => {
    const env = { ...process.env, CLM_HOME: home, NO_COLOR: "1" };
    const child = spawn(process.execPath, [program, "agent", "stop", name], { env });
    let stderr = "";
    child.stderr.on("data", (chunk) => {
      stderr += chunk;
      if (stderr.includes("--now")) child.kill("SIGINT");
    });
    child.on("close", (code) => done({ code, stderr }));
  });
}
