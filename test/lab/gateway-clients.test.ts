import { randomBytes } from "node:crypto";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import OpenAI, { APIError } from "openai";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { signedHeaders, signerOf } from "../../src/gateway/signing/sign.js";
import { Secret } from "../../src/secret.js";

import { covered } from "../unit/gateway/signing/covered.js";
import { clm, type Result, runProgram } from "./clm.js";
import { labFixture, withEcho } from "./fixture.js";

import { newKey, Running, Serving } from "./serving.js";

const host = "trial-1";
const newer = "trial13-1";
const scratch = mkdtempSync(join(tmpdir(), "clm-clients-"));
let serving: Serving;
let url: string;

const lab = labFixture({
  agents: [
    { host, name: "ada", configure: withEcho },
    { host: newer, name: "ben", version: "2026.5.7+standin", configure: withEcho },
  ],
});
const { home } = lab;
beforeAll(async () => {
  // A dollar per token: the cost of a call is its usage.
  writeFileSync(join(home, "models.yaml"), "models:\n  ollama:\n    echo-1: { input: 1000000, output: 1000000 }\n");
  await serve();
});
afterAll(async () => {
  await serving?.stop();
  rmSync(scratch, { recursive: true });
});

async function serve(): Promise<void> {
  serving = new Serving(home);
  ({ url } = await serving.until("ready"));
}

const clientOf = (apiKey: string, baseURL = url) => new OpenAI({ baseURL, apiKey, maxRetries: 0, timeout: 60_000 });
const hello = { messages: [{ role: "user" as const, content: "hello" }] };
const say = (apiKey: string, model = "ada") => clientOf(apiKey).chat.completions.create({ model, ...hello });
/** An error as a program with the openai library gets it. */
const toldOf = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => "answered",
    (error) => (error instanceof APIError ? [error.status, error.code, error.type] : error),
  );

const noSuchModel = [404, "model_not_found", "invalid_request_error"];

describe("a key is refused", () => {
  it.each([
    ["is unknown", async () => "clm_nobodyxx_nothing", [401, "invalid_api_key", "authentication_error"]],
    [
      "has ended",
      async () => {
        const key = await newKey(home, "--name", "short", "--agents", "*", "--expires", "2s");
        expect(await toldOf(say(key))).toBe("answered");
        await sleep(2100);
        return key;
      },
      [401, "expired_api_key", "authentication_error"],
    ],
    [
      "is revoked",
      async () => {
        const key = await newKey(home, "--name", "gone", "--agents", "*");
        expect(await toldOf(say(key))).toBe("answered");
        await lab.must("gateway", "key", "revoke", "gone", "--yes");
        return key;
      },
      [401, "revoked_api_key", "authentication_error"],
    ],
    ["is for other agents", () => newKey(home, "--name", "narrow", "--agents", "ben"), noSuchModel],
    [
      "may not talk",
      () => newKey(home, "--name", "reader", "--agents", "*", "--role", "read"),
      [403, "role_not_allowed", "permission_error"],
    ],
    [
      "has spent its budget",
      async () => {
        const key = await newKey(home, "--name", "poor", "--agents", "*", "--budget-usd", "5");
        expect(await toldOf(say(key))).toBe("answered");
        return key;
      },
      [429, "insufficient_quota", "insufficient_quota"],
    ],
    [
      "has used its tokens",
      async () => {
        const key = await newKey(home, "--name", "few", "--agents", "*", "--tokens-per-day", "5");
        expect(await toldOf(say(key))).toBe("answered");
        return key;
      },
      [429, "tokens_per_day_exceeded", "rate_limit_error"],
    ],
    [
      "asks too often",
      async () => {
        const key = await newKey(home, "--name", "eager", "--agents", "*", "--rpm", "1");
        expect(await toldOf(say(key))).toBe("answered");
        return key;
      },
      [429, "rate_limit_exceeded", "rate_limit_error"],
    ],
    [
      "signs, and did not",
      () => newKey(home, "--name", "unsigned", "--agents", "*", "--signed"),
      [401, "signature_required", "authentication_error"],
    ],
  ])("because it %s", async (_, make, told) => {
    const key = await make();
    expect(await toldOf(say(key))).toEqual(told);
  });

  it("a hundred requests at once spend at most the budget plus one call", async () => {
    const key = await newKey(home, "--name", "crowd", "--agents", "*", "--budget-usd", "200");
    const { usage } = await say(key);
    const each = usage?.total_tokens ?? 0;
    expect(each).toBeGreaterThan(0);
    const ends = await Promise.all(Array.from({ length: 100 }, () => toldOf(say(key))));
    const passed = ends.filter((end) => end === "answered").length + 1;
    expect(passed * each).toBeGreaterThanOrEqual(200);
    expect((passed - 1) * each).toBeLessThanOrEqual(200);
    for (const end of ends) expect(["answered", [429, "insufficient_quota", "insufficient_quota"]]).toContainEqual(end);
    const { stdout } = await lab.must("gateway", "usage", "--key", "crowd", "-o", "json");
    expect(JSON.parse(stdout).total).toMatchObject({ usd: passed * each });
  });

  it("so do two hundred in a session of 100,000 tokens, which the agent loads by its id", async () => {
    const limit = 1_000_000;
    const key = await newKey(home, "--name", "long", "--agents", "*", "--tokens-per-day", String(limit));
    const go = async (content: string): Promise<[status: number, tokens: number]> => {
      const answer = await fetch(`${url}/chat/completions`, {
        method: "POST",
        headers: { authorization: `Bearer ${key}`, "x-hermes-session-id": "a-long-story" },
        body: JSON.stringify({ model: "ada", messages: [{ role: "user", content }] }),
      });
      const { usage } = (await answer.json()) as { usage?: { total_tokens: number } };
      return [answer.status, usage?.total_tokens ?? 0];
    };
    // A message has 65,536 characters at most.
    let first = 0;
    for (let message = 0; message < 4; message++) [, first] = await go("word ".repeat(13_000));
    expect(first).toBeGreaterThan(100_000);
    const ends = await Promise.all(Array.from({ length: 200 }, () => go("go on")));
    for (const [status] of ends) expect([200, 429]).toContain(status);
    const { stdout } = await lab.must("gateway", "usage", "--key", "long", "-o", "json");
    const { input, output } = JSON.parse(stdout).total;
    const largest = Math.max(first, ...ends.map(([, tokens]) => tokens));
    expect(largest).toBeGreaterThan(90_000);
    expect(input + output).toBeGreaterThanOrEqual(limit);
    expect(input + output).toBeLessThanOrEqual(limit + largest);
  });
});

describe("a signed request", () => {
  const body = JSON.stringify({ model: "ada", ...hello });
  let key: string;
  beforeAll(async () => {
    key = await newKey(home, "--name", "signs", "--agents", "ada", "--signed");
  });

  const signed = (now = new Date()) => {
    const { id, secret } = signerOf(new Secret(key)) ?? { id: "", secret: new Secret("none") };
    const nonce = randomBytes(16).toString("hex");
    return signedHeaders(secret, {
      method: "POST",
      url: "/v1/chat/completions",
      body: Buffer.from(body),
      keyId: id,
      now,
      nonce,
      covered,
    });
  };
  const send = async (headers: Record<string, string>, text = body) => {
    const answer = await fetch(`${url}/chat/completions`, { method: "POST", headers, body: text });
    const { error } = (await answer.json()) as { error?: { code: string } };
    return error ? [answer.status, error.code] : answer.status;
  };

  it("is accepted once, even if the gateway was killed in between", async () => {
    const headers = signed();
    expect(await send(headers)).toBe(200);
    expect(await send(headers)).toEqual([401, "request_replayed"]);
    await serving.stop("SIGKILL");
    await serve();
    expect(await send(headers)).toEqual([401, "request_replayed"]);
    expect(await send(signed())).toBe(200);
  });

  it("is refused when it is stale or was changed", async () => {
    expect(await send(signed(new Date(Date.now() - 400_000)))).toEqual([401, "signature_stale"]);
    expect(await send(signed(), body.replace("hello", "hullo"))).toEqual([401, "signature_invalid"]);
  });

  it("is made by sign-proxy for a tool that cannot sign", async () => {
    const file = join(scratch, "key");
    writeFileSync(file, key, { mode: 0o600 });
    const words = ["gateway", "sign-proxy", "--key-file", file, "--to", url.replace(/\/v1$/, "")];
    const proxy = new Running<{ event: string; base_url: string; local_key: string }>(home, words);
    try {
      const { base_url: base, local_key: local } = await proxy.until("ready");
      const answer = await clientOf(local, base).chat.completions.create({ model: "ada", ...hello });
      expect(answer.choices[0]?.message.content).toBe("echo: hello");
      const stream = await clientOf(local, base).chat.completions.create({ model: "ada", stream: true, ...hello });
      let said = "";
      for await (const chunk of stream) said += chunk.choices[0]?.delta.content ?? "";
      expect(said).toBe("echo: hello");
      expect(await toldOf(clientOf("another", base).models.list())).toMatchObject({ 0: 401, 1: "local_key_invalid" });
    } finally {
      await proxy.stop();
    }
  });
});

describe("the helpers of the openai library", () => {
  it.each(["ada", "ben"])("read %s to the end, with tool calls too", async (model) => {
    const key = await newKey(home, "--name", `helped-${model}`, "--agents", "*");
    const messages = [{ role: "user" as const, content: "use a tool" }];
    const chat = clientOf(key).chat.completions.stream({ model, messages });
    expect(await chat.finalContent()).toContain("use a tool");
    const stream = clientOf(key).responses.stream({ model, input: "use a tool, please" });
    expect((await stream.finalResponse()).output_text).toContain("use a tool, please");
  });
});

describe("Codex", () => {
  const program = resolve("test/clients/node_modules/@openai/codex/bin/codex.js");
  // Blocks other addresses: Codex would ask its vendor for updates.
  const nowhere = { HTTP_PROXY: "http://127.0.0.1:9", HTTPS_PROXY: "http://127.0.0.1:9", NO_PROXY: "127.0.0.1" };
  let key: string;
  beforeAll(async () => {
    if (!existsSync(program)) throw new Error("Codex is not there; `npm test` installs it");
    key = await newKey(home, "--name", "codex", "--agents", "*");
  });

  /** Codex with only the settings that `clm gateway env` prints, and the key. */
  async function codex(model: string, ...words: string[]): Promise<Result & { said: string }> {
    const folder = join(scratch, model);
    mkdirSync(folder, { recursive: true });
    const asked = ["gateway", "env", "codex", "--tool", "codex", "--url", url.replace(/\/v1$/, ""), "--model", model];
    const { settings } = JSON.parse((await lab.must(...asked, "-o", "json")).stdout);
    writeFileSync(join(folder, "config.toml"), `${settings[0].text}\n`);
    const last = join(folder, "last.txt");
    const result = await runProgram(
      process.execPath,
      [program, "exec", "--skip-git-repo-check", "--sandbox", "read-only", "-C", folder, "-o", last, ...words],
      { ...nowhere, CODEX_HOME: folder, HOME: folder, CLM_GATEWAY_KEY: key },
    );
    return { ...result, said: existsSync(last) ? readFileSync(last, "utf8") : "" };
  }

  it.each(["ada", "ben"])("completes a turn with %s and the printed settings", async (model) => {
    const { code, stdout, stderr, said } = await codex(model, "Say hello to the gateway.");
    expect({ code, said }, `${stdout}\n${stderr}`).toEqual({
      code: 0,
      said: expect.stringContaining("Say hello to the gateway."),
    });
    const { stdout: lines } = await clm(["gateway", "audit", "-o", "json"], { home });
    expect(JSON.parse(lines).at(-1)).toMatchObject({ key: { name: "codex" }, model, status: 200 });
  });

  it("is not asked to run a tool that the agent already ran", async () => {
    const { code, stdout, stderr, said } = await codex("ada", "Please use a tool.");
    expect([code, said], `${stdout}\n${stderr}`).toEqual([0, expect.stringContaining("use a tool")]);
    expect(stdout + stderr).not.toContain("unsupported call");
  });
});

describe("a gateway that is killed", () => {
  it("records and counts interrupted requests at its next start", async () => {
    const key = await newKey(home, "--name", "cut", "--agents", "*");
    const cut = toldOf(
      clientOf(key).chat.completions.create({
        model: "ada",
        max_tokens: 77,
        messages: [{ role: "user", content: `slowly ${"word ".repeat(100)}` }],
      }),
    );
    await sleep(1000);
    await serving.stop("SIGKILL");
    await cut;
    await serve();
    const { stdout } = await clm(["gateway", "audit", "--key", "cut", "-o", "json"], { home });
    expect(JSON.parse(stdout)).toMatchObject([{ code: "gateway_killed", tokens: { output: 77, estimated: true } }]);
    const { total } = JSON.parse((await clm(["gateway", "usage", "--key", "cut", "-o", "json"], { home })).stdout);
    expect(total).toMatchObject({ requests: 1, output: 77 });
    expect((await clm(["gateway", "audit", "--verify"], { home })).code).toBe(0);
  });

  it("reads new prices without a restart", async () => {
    const key = await newKey(home, "--name", "dear", "--agents", "*");
    const spent = async () => {
      await say(key);
      const { stdout } = await clm(["gateway", "audit", "--key", "dear", "-o", "json"], { home });
      return JSON.parse(stdout).at(-1).usd;
    };
    const before = await spent();
    writeFileSync(join(home, "models.yaml"), "models:\n  ollama:\n    echo-1: { input: 2000000, output: 2000000 }\n");
    while ((await spent()) !== 2 * before) await sleep(200);
    writeFileSync(join(home, "models.yaml"), "models: [");
    await sleep(1100);
    expect(await spent()).toBe(2 * before);
  });
});

describe("an agent's subscription proxy", () => {
  it("is a model of the gateway, with its keys, roles and log", async () => {
    const { must } = lab;
    await must("agent", "exec", "ada", "--", "hermes", "auth", "add", "nous", "--type", "oauth");
    await must("agent", "proxy", "ada", "enable", "--provider", "nous");
    const all = await newKey(home, "--name", "lent", "--agents", "ada,ada/proxy");
    const other = await newKey(home, "--name", "not-lent", "--agents", "*");
    const models = (await clientOf(all).models.list()).data.map(({ id }) => id);
    expect(models).toEqual(["ada", expect.stringMatching(/^ada\/proxy\/./)]);
    const model = models[1] ?? "";
    const { choices } = await say(all, model);
    expect(choices[0]?.message.content).toBe("echo: hello");
    const { data } = await clientOf(all).embeddings.create({ model, input: "hello" });
    expect(data[0]?.embedding.length).toBeGreaterThan(0);
    expect(await toldOf(say(other, model))).toEqual(noSuchModel);
    expect(await toldOf(clientOf(all).responses.create({ model, input: "x" }))).toMatchObject({
      1: "not_supported_by_target",
    });
    const { stdout } = await clm(["gateway", "audit", "-o", "json"], { home });
    const lines: object[] = JSON.parse(stdout);
    expect(lines).toContainEqual(expect.objectContaining({ model, status: 200 }));
    await must("agent", "proxy", "ada", "disable");
    expect(await toldOf(say(all, model))).toEqual(noSuchModel);
  });
});
