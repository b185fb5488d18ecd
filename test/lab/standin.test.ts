import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, inject, it } from "vitest";
import { writeOverlay } from "../../src/cli/lab/overlay.js";
import type { Standin } from "../../src/lab/standin.js";
import { clm } from "./clm.js";
import { standinOn, type Wish } from "./standin-agent.js";

const digest = (key: string) => `present:${createHash("sha256").update(key).digest("hex").slice(0, 12)}`;
const dead = "http://127.0.0.1:9/v1";
const lab = "http://127.0.0.1:4180/v1";
/** The data events of a streamed answer, without the end marker and named events. */
const chunksOf = (body: string) =>
  [...body.matchAll(/(?<!^event: .*\n)^data: (\{.*)$/gm)].map(([, data = ""]) => JSON.parse(data));
const custom = (more: object) => ({ model: { provider: "custom", base_url: lab, default: "echo", ...more } });

describe("the lab's manifest", () => {
  const overlay = (home: string) => existsSync(join(home, "manifests/lab.yaml"));
  const down = (home: string) => clm(["lab", "down", "--name", "of-nobody"], { home });

  it("is added with a lab, and kept while there is one", async () => {
    const home = inject("fleetHome");
    expect(overlay(home)).toBe(true);
    expect((await down(home)).code).toBe(0);
    expect(overlay(home)).toBe(true);
  });

  it("is removed with the last lab", async () => {
    const home = await mkdtemp(join(tmpdir(), "clm-home-"));
    await writeOverlay(home);
    expect((await down(home)).code).toBe(0);
    expect(overlay(home)).toBe(false);
    await rm(home, { recursive: true });
  });
});

// Each on another Debian release, so that both Pythons are tested too.
describe.each<[Standin, string]>([
  ["2026.5.7", "trial-2"],
  ["2026.7.1", "trial13-1"],
])("the stand-in for %s on %s", (version, host) => {
  const old = version === "2026.5.7";
  const agent = standinOn(host, version);
  const { data, key } = agent;

  beforeAll(() => agent.make());
  afterAll(() => agent.remove());

  describe("installed", () => {
    it("refuses flags of other releases", async () => {
      expect(await agent.install("--nonsense")).toContain("Unknown option: --nonsense\nended with 1");
      const newer = await agent.install("--skip-browser --help");
      if (old) expect(newer).toContain("Unknown option: --skip-browser\nended with 1");
      else expect(newer).toContain("ended with 0");
    });

    it("refuses a directory that is no checkout, and an unknown tag", async () => {
      await agent.asUser(`mkdir -p ${data}/code`);
      expect(await agent.install()).toMatch(/Directory exists but is not a git repository[\s\S]*ended with 1$/m);
      await agent.asUser(`rm -r ${data}`);
      expect(await agent.install(`--dir ${data}/code --branch v1.2.3`)).toMatch(/ended with 1$/m);
    });

    it("prints its progress, and leaves what the real one leaves", async () => {
      const output = await agent.install();
      expect(output).toMatch(/⚠\S* Playwright/);
      expect(output).toContain("stand-in");
      expect(output).toMatch(/ended with 0$/m);
      const modes = await agent.here(
        `cd ${agent.home}; stat -c '%a %F %n' .hermes .hermes/.env .hermes/config.yaml .hermes/code/.git`,
      );
      expect(modes.trim().split("\n")).toEqual([
        "755 directory .hermes",
        `${old ? 644 : 600} regular file .hermes/.env`,
        "644 regular file .hermes/config.yaml",
        "755 directory .hermes/code/.git",
      ]);
      const launcher = await agent.here(`cat ${agent.home}/.local/bin/hermes`);
      expect(launcher.trim().split("\n")).toHaveLength(4);
      const line = await agent.asUser("~/.local/bin/hermes --version");
      expect(line.split("\n")[0]).toBe(`Hermes Agent ${old ? "v0.13.0" : "v0.18.0"} (${version})`);
      expect(line).toContain("Stand-in");
    });

    it("keeps existing files on a second run", async () => {
      await agent.put(`${data}/.env`, "MINE=1\n");
      await agent.put(`${data}/SOUL.md`, "I am a wolf.\n");
      expect(await agent.install()).toMatch(/ended with 0$/m);
      expect(await agent.here(`cat ${data}/.env ${data}/SOUL.md`)).toBe("MINE=1\nI am a wolf.\n");
    });

    it("resumes after it was killed half-way", async () => {
      await agent.here("echo 12 > /tmp/standin-install-slow");
      const killed = agent.install(agent.flags.replace(/code/, "other")).catch(() => {});
      await agent.until(`[ -e ${data}/other/.git ]`);
      await agent.here(`rm /tmp/standin-install-slow; pkill -KILL -u ${agent.user}`);
      await killed;
      expect(await agent.install(agent.flags.replace(/code/, "other"))).toMatch(/ended with 0$/m);
      await agent.here(`rm -rf ${data}/other*`);
      expect(await agent.install()).toMatch(/ended with 0$/m);
    });
  });

  describe("run", () => {
    it("makes its folders private, records that it runs, and runs only once", async () => {
      await agent.up();
      const closed = `cd ${data}; stat -c %a . cron sessions logs memories | sort -u; stat -c %a gateway.pid`;
      expect(await agent.here(closed)).toBe("700\n600\n");
      expect(await agent.state()).toMatchObject({
        gateway_state: "running",
        platforms: { api_server: { state: "connected" } },
      });
      const second = await agent.asUser("~/.local/bin/hermes gateway run; echo ended with $?");
      expect(second).toMatch(/already running[\s\S]*ended with 1$/m);
    });

    it.each([
      ["TERM", 1],
      ["INT", 0],
      ["USR1", 75],
    ])("ends at SIG%s with %i", async (signal, code) => {
      await agent.up();
      await agent.here(`systemctl kill --kill-whom=main -s ${signal} ${agent.unit}`);
      expect(await agent.ended()).toBe(code);
      expect(await agent.state()).toMatchObject({ gateway_state: "stopped" });
    });

    it("exits with 0 when its own command stops it, and restarts after a kill", async () => {
      await agent.up();
      await agent.asUser("~/.local/bin/hermes gateway stop");
      expect(await agent.ended()).toBe(0);
      await agent.up();
      await agent.here(`systemctl kill -s KILL ${agent.unit}`);
      await agent.ended();
      await agent.up();
    });

    it.each<[string, Record<string, string>, "open" | "closed" | "silent" | "ends"]>([
      ["no key", { API_SERVER_ENABLED: "true" }, old ? "open" : "silent"],
      ["a placeholder", { API_SERVER_KEY: "changeme" }, old ? "closed" : "silent"],
      ["a short key", { API_SERVER_KEY: "twelve-chars" }, old ? "closed" : "silent"],
      ["a short key for everyone", { API_SERVER_KEY: "seven-c", API_SERVER_HOST: "0.0.0.0" }, old ? "ends" : "silent"],
      ["a good key", { API_SERVER_KEY: key }, "closed"],
    ])("with %s", async (_, env, then) => {
      const wish: Wish = { env };
      if (then === "ends") {
        await agent.start(wish);
        expect(await agent.ended()).toBe(1);
        expect(await agent.state()).toMatchObject({ gateway_state: "startup_failed" });
      } else if (then === "silent") {
        await agent.start(wish);
        await agent.until(`grep -q retrying ${data}/gateway_state.json`);
        expect((await agent.ask("/health")).status).toBe(0);
        expect(await agent.show("SubState")).toBe("running");
        expect(await agent.journal()).toContain("Refusing to start: API_SERVER_KEY");
      } else {
        await agent.up(wish);
        const [none, ours] = [
          await agent.ask("/v1/models", { key: "" }),
          await agent.ask("/v1/models", { key: env.API_SERVER_KEY ?? "" }),
        ];
        expect([none.status, ours.status]).toEqual(then === "open" ? [200, 200] : [401, 200]);
      }
    });

    it("reports a port in use", async () => {
      const squatter = "squatter.service";
      await agent.stop();
      await agent.here(`systemd-run -q --unit ${squatter} python3 -m http.server --bind 127.0.0.1 8642`);
      try {
        await agent.until("curl -s -o /dev/null http://127.0.0.1:8642/");
        await agent.start();
        if (old) {
          expect(await agent.ended()).toBe(1);
          expect(await agent.state()).toMatchObject({ gateway_state: "startup_failed" });
        } else {
          await agent.until(`grep -q retrying ${data}/gateway_state.json`);
          expect(await agent.state()).toMatchObject({ gateway_state: "running" });
        }
        expect(await agent.journal()).toContain("Port 8642 already in use");
      } finally {
        await agent.here(`systemctl stop ${squatter}`);
      }
      if (!old) await agent.until(`grep -q '"connected"' ${data}/gateway_state.json`);
    });
  });

  describe("asked", () => {
    beforeAll(() => agent.up());

    it("accepts its key", async () => {
      for (const wrong of ["", "wrong", `${key}0`]) {
        const { status, body } = await agent.ask("/v1/models", { key: wrong });
        expect(status).toBe(401);
        expect(JSON.parse(body)).toEqual({
          error: { message: "Invalid API key", type: "invalid_request_error", code: "invalid_api_key" },
        });
      }
      const { body } = await agent.ask("/v1/models");
      expect(JSON.parse(body).data).toMatchObject([{ id: "hermes-agent", owned_by: "hermes" }]);
      expect(JSON.parse((await agent.ask("/v1/capabilities")).body).object).toBe("hermes.api_server.capabilities");
    });

    it("shows its health without a key, in the detail of the release", async () => {
      const health = { status: "ok", platform: "hermes-agent", ...(old ? {} : { version: "0.18.0" }) };
      expect(JSON.parse((await agent.ask("/health", { key: "" })).body)).toEqual(health);
      expect((await agent.ask("/health/detailed", { key: "" })).status).toBe(old ? 200 : 401);
      expect(JSON.parse((await agent.ask("/health/detailed")).body)).toMatchObject({
        gateway_state: "running",
        platforms: { api_server: { state: "connected", error_code: null, error_message: null } },
      });
    });

    it("refuses what the real one refuses", async () => {
      const origin = await agent.ask("/v1/models", { headers: ["Origin: http://elsewhere.test"] });
      expect([origin.status, origin.body]).toEqual([403, ""]);
      const lost = await agent.ask("/v1/nothing");
      expect([lost.status, lost.headers.includes("text/plain")]).toEqual([404, true]);
      const large = await agent.ask("/v1/chat/completions", { headers: ["Content-Length: 10000001"], body: {} });
      expect([large.status, JSON.parse(large.body).error.code]).toEqual([413, "body_too_large"]);
      const empty = await agent.ask("/v1/chat/completions", { body: { messages: [] } });
      expect([empty.status, JSON.parse(empty.body).error.message]).toEqual([
        400,
        "Missing or invalid 'messages' field",
      ]);
    });

    it("answers through its provider, plain and streamed", async () => {
      const whole = await agent.chat("hello there");
      expect(whole.status).toBe(200);
      expect(whole.headers).toMatch(/x-hermes-session-id: api-[0-9a-f]{16}/);
      expect(whole.headers.includes("x-hermes-completed: true")).toBe(!old);
      const { choices } = JSON.parse(whole.body);
      expect(choices).toEqual([
        { index: 0, message: { role: "assistant", content: "echo: hello there" }, finish_reason: "stop" },
      ]);
      const { headers, body } = await agent.chat("hello stream", { stream: true });
      expect(headers).toMatch(/x-hermes-session-id: api-[0-9a-f]{16}/);
      const [first, ...chunks] = chunksOf(body);
      expect(first?.choices[0]).toMatchObject({ delta: { role: "assistant" }, finish_reason: null });
      const last = chunks.pop();
      expect(chunks.map(({ choices: [{ delta }] }) => delta.content)).toEqual(["echo: ", "hello ", "stream"]);
      expect(last).toMatchObject({
        choices: [{ delta: {}, finish_reason: "stop" }],
        usage: { total_tokens: expect.any(Number) },
      });
      expect(body.trim().endsWith("data: [DONE]")).toBe(true);
    });

    it("streams its tool calls, and stores their results", async () => {
      const { body } = await agent.chat("use a tool", { stream: true, headers: ["X-Hermes-Session-Id: handy"] });
      const told = [...body.matchAll(/^event: hermes\.tool\.progress\ndata: (.*)$/gm)].map(([, data = ""]) =>
        JSON.parse(data),
      );
      const { toolCallId } = told[0];
      expect(told).toEqual([
        { tool: "terminal", emoji: "💻", label: "uname -s", toolCallId, status: "running" },
        { tool: "terminal", toolCallId, status: "completed" },
      ]);
      const rows =
        "SELECT role, tool_name, tool_call_id, tool_calls IS NOT NULL FROM messages WHERE session_id = 'handy'";
      expect(await agent.query(rows)).toEqual([
        ["user", null, null, 0],
        ["assistant", null, null, 1],
        ["tool", old ? null : "terminal", toolCallId, 0],
        ["assistant", null, null, 0],
      ]);
      expect(await agent.query("SELECT message_count, tool_call_count FROM sessions WHERE id = 'handy'")).toEqual([
        [4, 1],
      ]);
    });

    it("sends keepalives, and stops when the client is gone", async () => {
      const { body } = await agent.chat("slowly", { stream: true });
      expect(body).toContain("\n\n: keepalive\n\n");
      const words = Array.from({ length: 500 }, (_, at) => `w${at}`).join(" ");
      const said = JSON.stringify({ stream: true, messages: [{ role: "user", content: `slowly ${words}` }] });
      await agent.put("/tmp/standin-said", said);
      const cut = await agent.here(
        `curl -sN -H 'Authorization: Bearer ${key}' -H 'X-Hermes-Session-Id: cut' -d @/tmp/standin-said http://127.0.0.1:8642/v1/chat/completions | grep -m 2 content; rm /tmp/standin-said`,
      );
      expect(cut).toContain('"slowly "');
      await agent.until(`grep -q 'SSE client disconnected; interrupted agent task chatcmpl-' ${data}/logs/agent.log`);
      const rows = () => agent.query("SELECT role FROM messages WHERE session_id = 'cut'");
      await expect.poll(rows, { timeout: 10_000 }).toEqual([["user"]]);
    });

    it("remembers in a named session, and only there", async () => {
      const turns = async (...headers: string[]) =>
        JSON.parse((await agent.chat("how many turns", { headers })).body).choices[0].message.content;
      const named = "X-Hermes-Session-Id: counted";
      expect([await turns(named), await turns(named), await turns()]).toEqual(["turns: 1", "turns: 2", "turns: 1"]);
      const { headers } = await agent.chat("hi", { headers: [named], stream: true });
      expect(headers).toContain("x-hermes-session-id: counted");
      expect(await turns(named)).toBe("turns: 4");
    });

    it("logs as the real one does, to the same files", async () => {
      const headers = ["X-Hermes-Session-Id: logged"];
      await agent.chat("log this: the fox is out", { headers });
      await agent.chat("trace this: the fox is gone", { headers });
      const time = /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3} /.source;
      const said = new RegExp(`${time}ERROR \\[logged\\] gateway\\.platforms\\.api_server: the fox is out$`, "m");
      const read = (file: string) => agent.here(`cat ${data}/logs/${file}.log`);
      for (const file of ["agent", "errors", "gateway"]) {
        const text = await read(file);
        expect(text).toMatch(said);
        expect(text).toMatch(/: Something went wrong\nTraceback [\s\S]*\nRuntimeError: the fox is gone\n/);
        expect([file, text.includes(" INFO ")]).toEqual([file, file !== "errors"]);
        expect([file, text.includes(" INFO [logged] run_agent: ")]).toEqual([file, file === "agent"]);
      }
      expect(await agent.journal()).toContain("the fox is out");
    });

    it("stores a named session in its database", async () => {
      const headers = ["X-Hermes-Session-Id: night-1"];
      await agent.chat("one", { headers });
      await agent.chat("two", { headers });
      const rows = await agent.query("SELECT role, content FROM messages WHERE session_id = 'night-1' ORDER BY id");
      expect(rows).toEqual([
        ["user", "one"],
        ["assistant", "echo: one"],
        ["user", "two"],
        ["assistant", "echo: two"],
      ]);
      expect(await agent.query("SELECT version FROM schema_version")).toEqual([[old ? 11 : 17]]);
      expect(await agent.query("SELECT count(*) FROM messages_fts WHERE messages_fts MATCH 'two'")).toEqual([[2]]);
      expect(await agent.query("PRAGMA journal_mode")).toEqual([["wal"]]);
      const listed = await agent.ask("/api/sessions");
      const messages = await agent.ask("/api/sessions/night-1/messages");
      if (old) expect([listed.status, messages.status]).toEqual([404, 404]);
      else {
        expect(JSON.parse(listed.body).data.map(({ id }: { id: string }) => id)).toContain("night-1");
        expect(JSON.parse(messages.body).data).toHaveLength(4);
        expect(listed.body).not.toContain('"system_prompt"');
      }
      const exported = await agent.asUser("~/.local/bin/hermes sessions export - --session-id night-1");
      expect(JSON.parse(exported).messages).toHaveLength(4);
    });

    it("has SOUL.md and memory in the prompt, and adds to memory under its lock", async () => {
      await agent.put(`${data}/SOUL.md`, "I am a wolf.");
      await agent.put(`${data}/memories/MEMORY.md`, "likes tea");
      // It waits while another process holds the lock.
      await agent.here(
        `flock ${data}/memories/MEMORY.md.lock sleep 600 >/dev/null 2>&1 & until flock -n ${data}/memories/MEMORY.md.lock true; [ $? = 1 ]; do sleep 0.1; done; chown ${agent.user}: ${data}/memories/MEMORY.md.lock`,
      );
      const remembering = agent.chat("remember: likes moss", { headers: ["X-Hermes-Session-Id: mind"] });
      await agent.until(`[ "$(grep -c . /proc/locks)" -gt 0 ] && grep -q -- '->' /proc/locks`);
      expect(await agent.here(`cat ${data}/memories/MEMORY.md`)).toBe("likes tea");
      await agent.here("pkill -f '[s]leep 600'");
      expect((await remembering).status).toBe(200);
      expect(await agent.here(`cat ${data}/memories/MEMORY.md`)).toBe("likes tea\n§\nlikes moss");
      const [[prompt] = []] = await agent.query("SELECT system_prompt FROM sessions WHERE id = 'mind'");
      expect(prompt).toMatch(/^I am a wolf\.[\s\S]*likes tea\n§\nlikes moss/);
    });
  });

  describe("with a provider", () => {
    const anthropic = { model: { provider: "anthropic", default: "claude", base_url: "http://127.0.0.1:4180" } };
    const cases: {
      name: string;
      env?: Record<string, string>;
      config: object;
      says: string | RegExp;
      heard?: string;
    }[] = [
      {
        name: "a custom endpoint and its key",
        // biome-ignore lint/suspicious/noTemplateCurlyInString: Hermes fills it in.
        config: custom({ api_key: "${SOME_KEY}" }),
        env: { SOME_KEY: "k1" },
        says: "echo: hi",
        heard: digest("k1"),
      },
      {
        name: "a custom endpoint without a key",
        config: custom({}),
        says: "echo: hi",
        heard: digest("no-key-required"),
      },
      {
        name: "a custom endpoint and another's key left behind",
        config: custom({}),
        env: { OPENROUTER_API_KEY: "sk-or-1" },
        says: "echo: hi",
        heard: digest(old ? "sk-or-1" : "no-key-required"),
      },
      {
        name: "anthropic",
        config: anthropic,
        env: { ANTHROPIC_API_KEY: "sk-ant-1" },
        says: "echo: hi",
        heard: digest("sk-ant-1"),
      },
      {
        name: "openrouter at another address",
        config: { model: { provider: "openrouter", default: "x/y" } },
        env: { OPENROUTER_API_KEY: "sk-or-2", OPENROUTER_BASE_URL: lab },
        says: "echo: hi",
        heard: digest("sk-or-2"),
      },
      {
        name: "openai",
        config: { model: { provider: "openai", default: "gpt" } },
        env: { OPENAI_API_KEY: "x" },
        says: /^500 .*Unknown provider 'openai'/,
      },
      {
        name: "openai-api",
        config: { model: { provider: "openai-api", default: "gpt" } },
        env: { OPENAI_API_KEY: "sk-1", OPENAI_BASE_URL: lab },
        says: old ? /^500 .*Unknown provider/ : "echo: hi",
        ...(old ? {} : { heard: digest("sk-1") }),
      },
      {
        name: "a stale HERMES_INFERENCE_PROVIDER",
        config: custom({}),
        env: { HERMES_INFERENCE_PROVIDER: "deepseek" },
        says: old ? /^500 .*DEEPSEEK_API_KEY/ : "echo: hi",
      },
      {
        name: "the alias ollama",
        config: { model: { provider: "ollama", base_url: lab, default: "echo" } },
        says: old ? /^500 .*'openrouter'/ : "echo: hi",
      },
      {
        name: "no key",
        config: { model: { provider: "deepseek", default: "x" } },
        says: /^500 .*no API key was found/,
      },
      { name: "a model of none", config: custom({ default: "" }), says: "echo: hi" },
      {
        name: "a fallback",
        config: {
          ...custom({ base_url: dead }),
          fallback_providers: [{ provider: "custom", base_url: lab, model: "echo" }],
        },
        says: "echo: hi",
      },
      {
        name: "nobody there",
        config: { ...custom({ base_url: dead }), agent: { api_max_retries: 1 } },
        says: "failed: API call failed after 1 retries: Connection error.",
      },
      {
        name: "a model that fails",
        config: custom({ default: "fail-x" }),
        says: /^failed: API call failed after 3 retries: HTTP 500/,
      },
    ];

    it.each(cases)("$name", async ({ env = {}, config, says, heard }) => {
      await agent.up({ env: { API_SERVER_KEY: key, ...env }, config });
      const { status, headers, body } = await agent.chat("hi");
      const answer = JSON.parse(body);
      if (status !== 200) {
        expect(`${status} ${answer.error.message}`).toMatch(says);
        return;
      }
      const [{ message, finish_reason }] = answer.choices;
      const failed = message.content.startsWith("API call failed");
      expect(`${failed ? "failed: " : ""}${message.content}`).toMatch(says);
      // In 0.13 a failure looks like an answer.
      expect(finish_reason).toBe(failed && !old ? "error" : "stop");
      expect(headers.includes("x-hermes-completed: false")).toBe(failed && !old);
      expect(answer.hermes?.failed ?? false).toBe(failed && !old);
      if (heard) expect(await agent.heard()).toContain(`authorization=${heard}`);
    });

    it("that is dead, streamed", async () => {
      await agent.up({ config: { ...custom({ base_url: dead }), agent: { api_max_retries: 1 } } });
      const { status, body } = await agent.chat("hi", { stream: true });
      expect(status).toBe(200);
      expect(body).toContain(`"finish_reason": "${old ? "stop" : "error"}"`);
      expect(chunksOf(body).map(({ choices: [{ delta }] }) => delta)).toEqual([{ role: "assistant" }, {}]);
      const { error, hermes } = chunksOf(body).at(-1) ?? {};
      const why = "API call failed after 1 retries: Connection error.";
      expect(error?.message).toBe(old ? undefined : why);
      expect(hermes).toEqual(
        old ? undefined : { completed: false, partial: false, failed: true, error: why, error_code: "agent_error" },
      );
    });
  });

  describe("its traces", () => {
    it("keep the entries of earlier processes in gateway_state.json, with their times", async () => {
      await agent.up();
      const earlier = {
        state: "retrying",
        error_code: null,
        error_message: "x",
        updated_at: "2026-01-01T00:00:00+00:00",
      };
      await agent.put(`${data}/gateway_state.json`, JSON.stringify({ platforms: { discord: earlier } }));
      await agent.here(`systemctl restart ${agent.unit}`);
      await agent.until(`grep -q '"api_server": {"state": "connected"' ${data}/gateway_state.json`);
      expect((await agent.state()).platforms).toMatchObject({ discord: earlier, api_server: { state: "connected" } });
    });
    it("have a warning at each start, for each wrong key, and in the first chat without DNS", async () => {
      await agent.here(`rm -f ${data}/logs/errors.log`);
      await agent.up();
      const errors = () => agent.here(`cat ${data}/logs/errors.log`);
      expect(await errors()).toMatch(/WARNING gateway\.run: No user allowlists configured/);
      expect((await errors()).includes("check_fn")).toBe(!old);
      for (const key of ["", "wrong"]) await agent.ask("/v1/models", { key });
      expect((await errors()).match(/WARNING .*API server rejected invalid API key/g)).toHaveLength(2);
      for (const text of ["one", "two"]) await agent.chat(text);
      expect((await errors()).match(/Temporary failure in name resolution/g)).toHaveLength(1);
      expect(await errors()).not.toMatch(/ERROR|CRITICAL/);
    });
    it("name a dead MCP server only in the log", async () => {
      const config = { ...custom({}), mcp_servers: { files: { command: "npx" }, web: { url: "http://127.0.0.1:9" } } };
      await agent.up({ config, switches: ["mcp-dead web"] });
      const log = await agent.here(`cat ${data}/logs/agent.log`);
      expect(log).toMatch(
        /WARNING tools\.mcp_tool: MCP server 'web' failed initial connection after 3 attempts, giving up/,
      );
      expect(log).toContain("MCP: registered 2 tool(s) from 1 server(s) (1 failed)");
    });
    it("show that 0.13 does not end while a model call hangs", async () => {
      await agent.up();
      const body = '{"messages":[{"role":"user","content":"think for 300 seconds"}]}';
      const call = `curl -s -H 'Authorization: Bearer ${key}' -d '${body}' http://127.0.0.1:8642/v1/chat/completions`;
      await agent.here(
        `systemd-run -q --collect ${call}; sleep 1; systemctl kill --kill-whom=main -s INT ${agent.unit}; sleep 3`,
      );
      expect((await agent.show("MainPID")) === "0").toBe(!old);
      await agent.here(`systemctl kill -s KILL ${agent.unit} 2>/dev/null; true`);
    });
  });

  describe("with the switch", () => {
    it("gate-open", async () => {
      await agent.up({ switches: ["gate-open"] });
      expect((await agent.ask("/v1/models", { key: "" })).status).toBe(200);
      expect((await agent.ask("/v1/models", { key: "wrong" })).status).toBe(200);
    });
    it("port-taken", async () => {
      await agent.start({ switches: ["port-taken"] });
      await agent.until(`grep -q '"retrying"\\|startup_failed' ${data}/gateway_state.json`);
      if (old) expect(await agent.ended()).toBe(1);
      expect((await agent.ask("/health")).status).toBe(0);
      expect(await agent.journal()).toContain("Port 8642 already in use");
    });
    it("key-refused", async () => {
      await agent.start({ switches: ["key-refused"] });
      await agent.until(`grep -q '"retrying"' ${data}/gateway_state.json`);
      expect((await agent.ask("/health")).status).toBe(0);
      expect(await agent.show("SubState")).toBe("running");
      expect(await agent.journal()).toContain("Refusing to start: API_SERVER_KEY");
    });
    it("dead-upstream", async () => {
      await agent.up({ switches: ["dead-upstream"] });
      const { status, body } = await agent.chat("hi");
      expect(status).toBe(200);
      expect(JSON.parse(body).choices[0].message.content).toBe("API call failed after 3 retries: Connection error.");
    });
    it("slow-start", async () => {
      await agent.start({ switches: ["slow-start 600"] });
      await agent.until(`grep -q '"starting"' ${data}/gateway_state.json`);
      expect((await agent.ask("/health")).status).toBe(0);
      await agent.here(`systemctl kill --kill-whom=main -s INT ${agent.unit}`);
      expect(await agent.ended()).toBe(0);
    });
    it("crash-loop", async () => {
      await agent.start({ switches: ["crash-loop"] });
      expect(await agent.ended()).toBe(1);
    });
    it("bind-all", async () => {
      await agent.up({ switches: ["bind-all"] });
      expect(await agent.here("ss -Hltn sport = :8642")).toContain("0.0.0.0:8642");
      await agent.up();
      expect(await agent.here("ss -Hltn sport = :8642")).toContain("127.0.0.1:8642");
    });
    it("no-health", async () => {
      await agent.up({ switches: ["no-health"] });
      expect((await agent.ask("/health")).status).toBe(503);
    });
    it("github-silent", async () => {
      await agent.configure({ switches: ["github-silent"] });
      const ask = (seconds: number) => agent.asUser(`timeout ${seconds} ~/.local/bin/hermes --version | cat`);
      await agent.here(`rm -f ${data}/.update_check`);
      // It answers only when all is done, and a caller that gave up waits again the next time.
      expect(await ask(3)).toBe("");
      expect(await ask(3)).toBe("");
      expect(await ask(30)).toMatch(/^Hermes Agent v0\.\d+\.0 \([\d.]+\)\nProject: /);
      expect(await ask(9)).toContain("Up to date");
    });
    it("say", async () => {
      await agent.up({ switches: ["say the key is sk-12345"] });
      expect(await agent.here(`tail -n 1 ${data}/logs/errors.log`)).toMatch(
        /ERROR gateway\.run: the key is sk-12345$/m,
      );
    });
    it("mcp-slow", async () => {
      const config = { ...custom({}), mcp_servers: { files: { command: "npx", connect_timeout: 10 } } };
      await agent.start({ config, switches: ["mcp-slow 600"] });
      await agent.until(`grep -qs "starting MCP server 'files'" ${data}/logs/mcp-stderr.log`);
      expect((await agent.ask("/health")).status).toBe(0);
      await agent.up({ config, switches: ["mcp-slow"] });
      expect(await agent.journal()).toContain("Failed to connect to MCP server 'files': timed out after 10s");
    });
    it("channel-refused", async () => {
      const env = { API_SERVER_KEY: key, DISCORD_BOT_TOKEN: "one", SLACK_BOT_TOKEN: "two" };
      const config = { ...custom({}), platforms: { telegram: { enabled: true } } };
      await agent.up({ env, config, switches: ["channel-refused discord"] });
      const { gateway_state, platforms } = await agent.state();
      const states = Object.entries<{ state: string }>(platforms).map(([name, { state }]) => [name, state]);
      expect([gateway_state, Object.fromEntries(states)]).toEqual([
        "running",
        { discord: old ? "retrying" : "fatal", slack: "connected", telegram: "connected", api_server: "connected" },
      ]);
      expect(platforms.discord.error_message).toBe("Improper token has been passed.");
      expect(await agent.journal()).toContain("discord.errors.LoginFailure: Improper token has been passed.");
      // Retried forever, or not at all.
      await agent.here(`: > ${data}/.standin`);
      if (old) await agent.until(`grep -q '"discord": {"state": "connected"' ${data}/gateway_state.json`);
    });
  });

  describe("as a dashboard", () => {
    const unit = "standin-dashboard.service";
    const run = (words: string) =>
      agent.here(
        `systemd-run -q --unit ${unit} -p User=${agent.user} -p RemainAfterExit=yes -p StandardError=journal ${agent.home}/.local/bin/hermes dashboard ${words}`,
      );
    const ended = () =>
      agent.here(`systemctl stop ${unit} 2>/dev/null; systemctl reset-failed ${unit} 2>/dev/null; true`);
    afterEach(ended);

    it("serves its page to this machine, and the API to those with the token of the page", async () => {
      await run("--no-open");
      await agent.until("curl -s -o /dev/null http://127.0.0.1:9119/");
      const page = await agent.here("curl -s http://127.0.0.1:9119/");
      expect(page).toContain("<title>Hermes Agent");
      const [, token] = /__HERMES_SESSION_TOKEN__="([^"]+)"/.exec(page) ?? [];
      const status = (words: string) => agent.here(`curl -s -o /dev/null -w '%{http_code}' ${words}`);
      const sessions = "http://127.0.0.1:9119/api/sessions";
      expect(await status(sessions)).toBe("401");
      expect(await status(`-H 'X-Hermes-Session-Token: ${token}' ${sessions}`)).toBe("200");
      expect(await status("-H 'Host: elsewhere.test' http://127.0.0.1:9119/")).toBe("400");
      expect(await agent.here("ss -Hltn sport = :9119")).toContain("127.0.0.1:9119");
      const hermes = (words: string) => agent.asUser(`~/.local/bin/hermes dashboard ${words}`);
      expect(await hermes("--status")).toContain("Dashboard is running (PID ");
      await hermes("--stop");
      await agent.until(`[ "$(systemctl show --value -p MainPID ${unit})" = 0 ]`);
      expect(await hermes("--status")).toContain("No hermes dashboard");
    });

    it("is served to other machines only where the release allows it", async () => {
      const open = (words: string) =>
        agent.asUser(
          `timeout 2 ~/.local/bin/hermes dashboard --no-open --host 0.0.0.0 --port 9120 ${words}; echo ended with $?`,
        );
      expect(await open("")).toMatch(/Refusing to bind to 0\.0\.0\.0[\s\S]*ended with 1$/m);
      expect(await open("--insecure")).toMatch(old ? /ended with 124$/m : /Refusing to bind[\s\S]*ended with 1$/m);
    });
  });
});
