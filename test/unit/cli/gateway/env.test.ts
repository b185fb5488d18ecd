import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import { parse } from "yaml";
import { settingsFor, type Tool, tools } from "../../../../src/cli/gateway/tools/client-tools.js";
import type { GatewayKey } from "../../../../src/gateway/request/gateway-key.js";
import { hostNameFrom } from "../../../../src/names.js";
import { gatewayKeyStore } from "../../../../src/state/gateway-keys.js";
import { hostStore } from "../../../../src/state/hosts.js";
import { sampleAgent } from "../../state/sample-agent.js";
import { scratchDirectories } from "../../state/scratch.js";
import { clm } from "../world.js";

const freshDirectory = scratchDirectories();
let dir: string;
beforeEach(() => {
  dir = freshDirectory();
});

const plainKey: GatewayKey = {
  id: "aaaa0001",
  name: "ci",
  hash: "00",
  agents: ["*"],
  role: "chat",
  created_at: "2026-01-01T00:00:00Z",
  signed: false,
};

describe("gateway env", () => {
  async function fleet(...keys: GatewayKey[]) {
    const host = (name: string, agents: Record<string, ReturnType<typeof sampleAgent>>) => ({
      name: hostNameFrom(name),
      address: "127.0.0.1",
      port: 9,
      labels: {},
      added_at: "2026-01-01T00:00:00.000Z",
      sudo: "passwordless" as const,
      agents,
    });
    const ready = { onboarding: { state: "ready" as const, stages: {} } };
    await hostStore(dir).update((all) => ({
      ...all,
      hosts: [
        host("wolf", { ada: sampleAgent("ada"), bob: sampleAgent("bob", { ...ready, down: true }) }),
        host("lynx", { ada: sampleAgent("ada"), eve: sampleAgent("eve", ready) }),
      ],
    }));
    await gatewayKeyStore(dir).update((all) => ({
      ...all,
      keys: Object.fromEntries(keys.map((key) => [key.id, key])),
    }));
  }
  const env = (...words: string[]) => clm(["--config-dir", dir, "gateway", "env", ...words]);
  const data = async (...words: string[]) => JSON.parse((await env(...words, "-o", "json")).stdout);

  it.each([
    ["all of them, the likeliest first", ["*"], ["eve", "bob", "wolf/ada", "lynx/ada"]],
    ["those of a host", ["wolf/*"], ["bob", "wolf/ada"]],
    ["those of a name", ["a*"], ["wolf/ada", "lynx/ada"]],
  ])("the models are those of the key: %s", async (_, agents, models) => {
    await fleet({ ...plainKey, agents });
    expect(await data("ci")).toMatchObject({ models, model: models[0] });
    expect(await data("aaaa0001")).toMatchObject({ key: { id: "aaaa0001", name: "ci", signed: false } });
  });

  it("is for people too", async () => {
    await fleet(plainKey);
    const { code, stdout, stderr } = await env("ci", "--tool", "codex");
    expect([code, stderr]).toEqual([0, ""]);
    expect(stdout.split("\n")).toEqual([
      "# models of ci: eve, bob, wolf/ada, lynx/ada",
      "# paste the key, as it was printed when it was created, and press Enter",
      "read -rs CLM_GATEWAY_KEY && export CLM_GATEWAY_KEY",
      "",
      "# codex: ~/.codex/config.toml (the first two lines before any [table])",
      'model = "eve"',
      'model_provider = "clm"',
      "",
      "[model_providers.clm]",
      'name = "clm gateway"',
      'base_url = "http://127.0.0.1:4141/v1"',
      'env_key = "CLM_GATEWAY_KEY"',
      'wire_api = "responses"',
      "",
    ]);
  });

  it("has something for every tool", async () => {
    await fleet(plainKey);
    const { settings } = await data("ci");
    expect([...new Set(settings.map(({ tool }: { tool: Tool }) => tool))]).toEqual([...tools]);
    for (const { text } of settings) expect(text).not.toContain("[secret]");
  });

  it("leads a key that demands signatures to the sign-proxy", async () => {
    await fleet({ ...plainKey, signed: true });
    const told = await data("ci", "--url", "https://gw.example:4141/v1");
    expect(told).toMatchObject({ base_url: "http://127.0.0.1:4142/v1", gateway: "https://gw.example:4141" });
    expect(told.first.join("\n")).toContain("clm gateway sign-proxy --to https://gw.example:4141 --port 4142");
    expect(JSON.stringify(told.settings)).not.toContain("gw.example");
  });

  it.each([
    [["ci", "--model", "eve"], "eve"],
    [["ci", "--model", "wolf/ada"], "wolf/ada"],
    [["ci", "--model", "eve/proxy/grok-4/fast"], "eve/proxy/grok-4/fast"],
  ])("takes a model: %j", async (words, model) => {
    await fleet({ ...plainKey, agents: ["*", "eve/proxy"] });
    expect((await data(...words)).model).toBe(model);
  });

  it.each([
    ["a name that no key has", ["ce"], 4, "did you mean 'ci'?"],
    ["a key", [`clm_aaaa0001_${"s".repeat(43)}`], 2, "a key is never an argument"],
    ["a model that it may not use", ["ci", "--model", "nobody"], 4, "may use no model called nobody"],
    ["a model that it may not use", ["ci", "--model", "ev"], 4, "did you mean 'eve'?"],
    ["what an agent lends to others", ["ci", "--model", "eve/proxy/x"], 4, "its --agents has no eve/proxy"],
    ["what is no model", ["ci", "--model", "a b"], 2, "not a model's name"],
    ["a revoked key", ["old"], 8, "gateway key old is revoked"],
    ["an expired key", ["late"], 8, "gateway key late has expired"],
    ["a key for agents that are not there", ["none"], 8, "may use none of the agents"],
    ["an open way", ["ci", "--url", "http://gw.example"], 2, "unencrypted over the network"],
    ["a password", ["ci", "--url", "https://u:hunter2@gw.example"], 2, "not the URL of a gateway"],
    ["a path", ["ci", "--url", "https://gw.example/clm/v1"], 2, "has a path"],
    ["a tool that nobody knows", ["ci", "--tool", "emacs"], 2, "--tool"],
  ])("refuses %s", async (_, words, exit, told) => {
    await fleet(
      plainKey,
      { ...plainKey, id: "aaaa0002", name: "old", revoked_at: "2025-01-01T00:00:00Z" },
      { ...plainKey, id: "aaaa0003", name: "late", expires_at: "2025-01-01T00:00:00Z" },
      { ...plainKey, id: "aaaa0004", name: "none", agents: ["zoe"] },
    );
    const { code, stdout, stderr } = await env(...words);
    expect([code, stdout]).toEqual([exit, ""]);
    expect(stderr).toContain(told);
    expect(stderr).not.toMatch(/sssss|hunter2/);
  });

  it("warns of a key that may only look", async () => {
    await fleet({ ...plainKey, role: "read" });
    expect((await env("ci")).stderr).toContain("may list models, but not use them");
  });
});

describe("the printed settings are valid", () => {
  // Every character that a language could treat specially.
  const model = `a'b"c\\d$(e)\`f\`\${g}#h!i%j{{k}}:l`;
  const base = "http://127.0.0.1:4141/v1";
  const textOf = (tool: Tool, part = 0) => settingsFor(tool, { base, model, noProxy: "127.0.0.1" })[part]?.text ?? "";

  it("by a shell", () => {
    const printed = execFileSync(
      "/bin/sh",
      ["-c", `${textOf("shell")}\nprintf '%s\\n' "$OPENAI_MODEL" "$OPENAI_API_KEY" "$OPENAI_BASE_URL" "$NO_PROXY"`],
      {
        env: { CLM_GATEWAY_KEY: "k$y", NO_PROXY: "x" },
      },
    );
    expect(String(printed)).toBe(`${model}\nk$y\n${base}\nx,127.0.0.1\n`);
  });

  it("for a shell that calls curl without the key in its arguments", () => {
    const bin = freshDirectory();
    writeFileSync(join(bin, "curl"), '#!/bin/sh\nprintf "%s\\n" "$@"\nexec /bin/cat\n', { mode: 0o755 });
    const printed = execFileSync("/bin/sh", ["-c", textOf("curl")], { env: { CLM_GATEWAY_KEY: "k$y", PATH: bin } });
    const lines = String(printed).split("\n");
    expect(lines.slice(0, 7)).toEqual([
      "-sS",
      "--noproxy",
      "127.0.0.1",
      "-H",
      "@-",
      "-H",
      "Content-Type: application/json",
    ]);
    expect(JSON.parse(lines[8] ?? "").model).toBe(model);
    expect(lines.slice(9)).toEqual([`${base}/chat/completions`, "Authorization: Bearer k$y", ""]);
  });

  it("as YAML", () => {
    expect(parse(textOf("aider"))).toEqual({ "openai-api-base": base, model: `openai/${model}` });
    expect(textOf("aider", 1)).toBe('export OPENAI_API_KEY="$CLM_GATEWAY_KEY"');
  });

  it("as Python", () => {
    const strings = `import ast, json, sys
print(json.dumps([n.value for n in ast.walk(ast.parse(sys.stdin.read())) if isinstance(n, ast.Constant)]))`;
    const read = JSON.parse(String(execFileSync("python3", ["-c", strings], { input: textOf("python") })));
    expect(read).toEqual(expect.arrayContaining([base, model, "CLM_GATEWAY_KEY"]));
  });

  it("as TOML, by the reader of Python", () => {
    const reading = "import json, sys, tomllib\nprint(json.dumps(tomllib.loads(sys.stdin.read())))";
    expect(JSON.parse(String(execFileSync("python3", ["-c", reading], { input: textOf("codex") })))).toEqual({
      model,
      model_provider: "clm",
      model_providers: {
        clm: { name: "clm gateway", base_url: base, env_key: "CLM_GATEWAY_KEY", wire_api: "responses" },
      },
    });
  });

  it("as JavaScript", async () => {
    const program = textOf("node")
      .replace(/^import .*$/m, "")
      .replace("console.log", "asked.push");
    const asked: unknown[] = [];
    class OpenAI {
      chat = {
        completions: {
          create: async (body: object) => ({ choices: [{ message: { content: { ...body, ...this.given } } }] }),
        },
      };
      constructor(readonly given: object) {}
    }
    const run = new Function("OpenAI", "asked", `return (async () => {${program}})()`);
    await run(OpenAI, asked);
    expect(asked).toEqual([expect.objectContaining({ model, baseURL: base })]);
  });
});
