import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { parse } from "yaml";
import { settingsFor, type Tool, tools } from "../../../../src/cli/gateway/tools/client-tools.js";
import { runCli, type World } from "../../../../src/cli/run.js";
import type { GatewayKey } from "../../../../src/gateway/request/key.js";
import { signerOf } from "../../../../src/gateway/signing/sign.js";
import { Secret } from "../../../../src/secret.js";
import { gatewayKeyStore } from "../../../../src/state/gateway-keys.js";
import { hostStore } from "../../../../src/state/hosts.js";
import { verifying } from "../../gateway/signing/verifying.js";
import { sampleAgent } from "../../state/sample-agent.js";
import { scratchDirectories } from "../../state/scratch.js";
import { memory } from "../../ui/streams.js";
import { clm } from "../world.js";

const freshDirectory = scratchDirectories();
let dir: string;
beforeEach(() => {
  dir = freshDirectory();
});

const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

const plainKey: GatewayKey = {
  ...{ id: "aaaa0001", name: "ci", hash: "00", agents: ["*"], role: "chat", created_at: "2026-01-01T00:00:00Z" },
  signed: false,
};

describe("gateway env", () => {
  async function fleet(...keys: GatewayKey[]) {
    const host = (name: string, agents: Record<string, ReturnType<typeof sampleAgent>>) => ({
      ...{ name, address: "127.0.0.1", port: 9, labels: {}, added_at: "2026-01-01T00:00:00.000Z" },
      ...{ sudo: "passwordless" as const, agents },
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
      ...{ model, model_provider: "clm" },
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

describe("gateway sign-proxy", () => {
  const key = `clm_abcd1234_${"k".repeat(43)}`;
  const signer = signerOf(new Secret(key));
  if (!signer) throw new Error("no key");

  async function gateway() {
    const opened = await verifying(
      signer as NonNullable<typeof signer>,
      freshDirectory(),
      ({ url }, body, response) => {
        if (url === "/v1/models") response.end(JSON.stringify({ data: [{ id: "ada" }, { id: "bad\nname" }] }));
        else response.end(`signed ${body}`);
      },
    );
    closing.push(opened.close);
    return opened.url;
  }

  /** Runs it until it prints that it is ready. */
  async function started(words: string[], world: Partial<World> = {}) {
    const stop = new AbortController();
    const [stdout, stderr] = [memory(), memory()];
    const ended = runCli(["--config-dir", join(dir, "none"), "gateway", "sign-proxy", ...words], {
      ...{ stdin: () => new PassThrough().end(`${key}\n`), stdout, stderr, env: { HOME: "/nowhere" } },
      ...{ now: () => new Date(), signal: stop.signal, ...world },
    });
    const json = words.includes("json");
    await Promise.race([
      ended,
      vi.waitFor(() => expect((json ? stdout : stderr).text()).toContain(json ? "\n" : "until Ctrl-C"), 20_000),
    ]);
    const end = async () => {
      stop.abort();
      const code = await ended;
      // The key and its derived secrets appear nowhere.
      expect(stdout.text() + stderr.text()).not.toMatch(new RegExp(`k{43}|${signer?.secret.reveal()}`));
      return code;
    };
    return { end, stdout, stderr, ready: () => JSON.parse(stdout.text()) };
  }

  const ask = async (base: string, bearer: string) => {
    const headers = { authorization: `Bearer ${bearer}` };
    const answer = await fetch(`${base}/chat/completions`, { method: "POST", headers, body: "hello" });
    return [answer.status, await answer.text()];
  };

  it("signs for callers with its local key, which is shown once, until Ctrl-C", async () => {
    const running = await started(["--to", await gateway()]);
    const [, local = ""] = /^export CLM_GATEWAY_KEY=(local_\S{32})$/m.exec(running.stdout.text()) ?? [];
    const [, base = ""] = /^export OPENAI_BASE_URL=(\S+)$/m.exec(running.stdout.text()) ?? [];
    expect(running.stdout.text()).toContain("export OPENAI_MODEL=ada\n");
    expect(running.stdout.text().split(local)).toHaveLength(2);
    expect(running.stderr.text()).not.toContain(local);
    expect(await ask(base, local)).toEqual([200, "signed hello"]);
    expect((await ask(base, "another"))[0]).toBe(401);
    expect(await running.end()).toBe(0);
    await expect(ask(base, local)).rejects.toThrow("fetch failed");
  });

  it("prints one line of JSON", async () => {
    const url = await gateway();
    const running = await started(["--to", url, "-o", "json", "--tool", "codex"]);
    const { base_url, local_key, ...rest } = running.ready();
    expect(rest).toMatchObject({ event: "ready", gateway: url, key: "abcd1234", open: false, models: ["ada"] });
    expect(rest.settings[0].text).toContain(`base_url = "${base_url}"`);
    expect(await ask(base_url, local_key)).toEqual([200, "signed hello"]);
    expect(await running.end()).toBe(0);
    expect(running.stdout.text().trimEnd().split("\n")).toHaveLength(1);
  });

  it("takes the key from a file or a variable, and a local key that stays", async () => {
    const url = await gateway();
    const file = join(dir, "key");
    writeFileSync(file, `${key}\n`, { mode: 0o600 });
    const env = { HOME: "/nowhere", KEY: key, LOCAL: "a-local-key-of-mine" };
    for (const from of [
      ["--key-file", file],
      ["--key-env", "KEY"],
    ]) {
      const running = await started(["--to", url, ...from, "--local-key", "env:LOCAL", "-o", "json"], { env });
      expect(running.ready()).not.toHaveProperty("local_key");
      expect(await ask(running.ready().base_url, env.LOCAL)).toEqual([200, "signed hello"]);
      await running.end();
      expect(running.stdout.text()).not.toContain(env.LOCAL);
    }
  });

  it("--open needs no key, with a warning", async () => {
    const running = await started(["--to", await gateway(), "--open"]);
    const [, base = ""] = /^export OPENAI_BASE_URL=(\S+)$/m.exec(running.stdout.text()) ?? [];
    expect(running.stderr.text()).toContain("every user and program of this machine can now use the key abcd1234");
    expect(await ask(base, "none")).toEqual([200, "signed hello"]);
    await running.end();
  });

  it("starts before the gateway, and reports that it does not answer yet", async () => {
    const server = createServer().listen(0, "127.0.0.1");
    await once(server, "listening");
    const { port } = server.address() as AddressInfo;
    await new Promise((closed) => server.close(closed));
    const running = await started(["--to", `http://127.0.0.1:${port}`]);
    expect(running.stderr.text()).toContain("does not answer yet (ECONNREFUSED): clm gateway serve");
    expect(await running.end()).toBe(0);
  });

  it("reports that the gateway refuses the key", async () => {
    const other = `clm_zzzz1234_${"k".repeat(43)}`;
    const running = await started(["--to", await gateway()], { stdin: () => new PassThrough().end(other) });
    expect(running.stderr.text()).toContain("the gateway refuses this key: The signature");
    await running.end();
  });

  it.each([
    ["a gateway elsewhere without TLS", ["--to", "http://gw.example:4141"], 2, "unencrypted over the network"],
    ["a password in the address", ["--to", "https://u:hunter2@gw.example"], 2, "not the URL of a gateway"],
    ["a key for a variable", ["--key-env", key], 2, "a key is never an argument"],
    ["a key for a file", ["--key-file", key], 2, "a key is never an argument"],
    ["what is no variable", ["--key-env", "hunter2 hunter2"], 2, "a key is never an argument"],
    ["a local key as an argument", ["--local-key", "hunter2hunter2hunter2"], 2, "a secret is never an argument"],
    ["a local key that is soon guessed", ["--local-key", "env:SHORT"], 2, "easy to guess"],
    ["two keys", ["--key-env", "KEY", "--key-file", "x"], 2, "exclude each other"],
    ["two words about the local key", ["--open", "--local-key", "env:SHORT"], 2, "exclude each other"],
    ["what is no key", ["--key-env", "SHORT"], 2, "that is not a gateway key"],
    ["a variable that is not set", ["--key-env", "NOTHING"], 2, "which is not set"],
  ])("refuses %s", async (_, words, exit, told) => {
    const { code, stdout, stderr } = await clm(["gateway", "sign-proxy", ...words], {
      env: { HOME: "/nowhere", SHORT: "hunter2", KEY: key },
      stdin: () => new PassThrough().end(key),
    });
    expect([code, stdout]).toEqual([exit, ""]);
    expect(stderr).toContain(told);
    expect(stderr).not.toMatch(/hunter2|kkkkk/);
  });

  it("names the port in use", async () => {
    const server = createServer().listen(0, "127.0.0.1");
    await once(server, "listening");
    closing.push(() => new Promise((closed) => server.close(closed)));
    const { port } = server.address() as AddressInfo;
    const { code, stderr } = await clm(["gateway", "sign-proxy", "--port", String(port)], {
      stdin: () => new PassThrough().end(key),
    });
    expect(code).toBe(5);
    expect(stderr).toContain(`local port ${port} cannot be used`);
  });
});
