import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { signedHeaders, signerOf } from "../../src/gateway/signing/sign.js";
import { Secret } from "../../src/secret.js";
import { openSecrets } from "../../src/state/secrets.js";
import { asEcho, misbehave } from "../lab/agents.js";
import { clm, inHost } from "../lab/clm.js";
import { labFixture } from "../lab/fixture.js";
import { newKey, Running, Serving } from "../lab/serving.js";
import { covered } from "../unit/gateway/signing/covered.js";
import { filesBelow, filesOnHost, journalOf, stopWatching, watchProcesses } from "./find-secrets.js";
import { leaks, type Planted, plant, soughtIn } from "./planted.js";

// Keys and secrets go through the gateway in every part of a request, and an agent repeats them in its errors; then
// everything that the gateway writes, prints and counts is searched. Answers of an agent belong to the caller and are not.

const host = "trial-1";
const name = "hid";
const scratch = mkdtempSync(join(tmpdir(), "clm-gateway-secrets-"));

/** A secret that clm stores, in characters that a path and a header may have. */
const kept = plant("the provider's key", "-_.~");
/** Part of a conversation, known only to the caller. */
const said = plant("what a caller said", "+/=");

let keys: Record<"usual" | "narrow" | "signed", string>;
/** All output, without the answers of agents. */
const seen: { where: string; text: string }[] = [];
let onHost: Promise<{ stdout: string }>;

const see = (where: string, text: string) => seen.push({ where, text });

async function run(...args: string[]) {
  const result = await clm(args, { home });
  see(`clm ${args.join(" ")}`, result.stdout + result.stderr);
  return result;
}

const lab = labFixture();
const { home } = lab;
beforeAll(async () => {
  const { install, must } = lab;
  await clm(["provider", "add", "echo", ...asEcho, "--key-stdin"], { home, input: kept.value });
  await install(host, name, "2026.7.1+standin");
  await must("agent", "configure", name, "--provider", "echo");
  await must("agent", "exec", name, "--", "hermes", "auth", "add", "nous", "--type", "oauth");
  await must("agent", "proxy", name, "enable", "--provider", "nous");
  keys = {
    usual: await newKey(home, "--name", "usual", "--agents", "*,*/proxy", "--role", "admin"),
    narrow: await newKey(home, "--name", "narrow", "--agents", "nobody", "--rpm", "1000"),
    signed: await newKey(home, "--name", "signed", "--agents", "*", "--signed"),
  };
  onHost = watchProcesses(host, [`/hermes-${name}.service`, `/hermes-${name}-proxy.service`]);
});
afterAll(async () => {
  await stopWatching(host);
  rmSync(scratch, { recursive: true });
});

/** Everything secret, including the agent's own key and the secrets that gateway keys are hashed and signed with. */
function hidden(): Planted[] {
  const secrets = openSecrets(home);
  const own = secrets.instances().flatMap((instance) =>
    secrets.names(instance).map((each) => ({
      name: `${JSON.stringify(instance)} ${each}`,
      value: secrets.get(instance, each)?.reveal() ?? "",
    })),
  );
  // Their prefix is their id, which is public.
  const ofGateway = Object.entries(keys).map(([which, key]) => ({ name: `the ${which} key`, value: key.slice(13) }));
  return [...own.filter(({ value }) => value.length > 12), ...ofGateway];
}

/** Sends a request, and records its answer only if it is an error. */
async function ask(url: string, path: string, { key = keys.usual, headers = {}, body = "" as string | object } = {}) {
  const answer = await fetch(`${url.replace(/\/v1$/, "")}${path}`, {
    method: body === "" ? "GET" : "POST",
    headers: { authorization: `Bearer ${key}`, ...headers },
    ...(body !== "" && { body: typeof body === "string" ? body : JSON.stringify(body) }),
  });
  const text = await answer.text();
  if (answer.status >= 400 || path === "/metrics" || path.startsWith("/v1/models")) see(`the answer to ${path}`, text);
  see(`the headers of the answer to ${path}`, JSON.stringify([...answer.headers]));
  return { status: answer.status, text };
}

/** Every kind of request, with every secret in every part. */
async function askEverything(url: string): Promise<void> {
  // A gateway key is pasted whole: it is recognised by its prefix.
  const whole = ({ value }: Planted) => Object.values(keys).find((key) => key.endsWith(value)) ?? value;
  const all = hidden().map(whole);
  const chat = "/v1/chat/completions";
  const messages = [{ role: "user", content: `repeat ${[...all, said.value].join(" and ")} please` }];
  expect((await ask(url, chat, { body: { model: name, messages } })).text).toContain(said.value);
  await ask(url, chat, { body: { model: name, messages, stream: true } });
  await ask(url, "/v1/responses", { body: { model: name, input: messages[0]?.content } });
  await ask(url, chat, { body: { model: `${name}/proxy/echo-1`, messages } });
  for (const value of all) {
    const path = encodeURIComponent(value);
    await ask(url, chat, { key: value.replaceAll(/[^\x20-\x7e]/g, ""), body: { model: name, messages } });
    await ask(url, chat, { body: { model: value, messages } });
    await ask(url, chat, { body: { model: `${host}/${value}`, messages } });
    // The answer repeats the model's name.
    await ask(url, chat, { body: { model: `${name}/proxy/fail-${value}`, messages } });
    await ask(url, chat, { body: `{"model": "${value}` });
    await ask(url, `${chat}?api_key=${path}`, { body: { model: name, messages } });
    await ask(url, `${chat}/${path}`, { body: { model: name, messages } });
    await ask(url, `/v1/models/${path}`);
    await ask(url, `/v1/${path}`);
    await ask(url, `/${path}`);
    // The session id is chosen by the caller: the agent stores and repeats it.
    await ask(url, chat, {
      headers: { "x-hermes-session-id": `${path.length}-x`, "user-agent": path, "x-request-id": path },
      body: { model: name, messages },
    });
    await ask(url, chat, { headers: { "x-clm-key": path, "x-clm-signature": path }, body: { model: name, messages } });
  }
  await ask(url, chat, { body: `{"messages": "${said.value}` });
  await ask(url, chat, { key: keys.narrow, body: { model: name, messages } });
  await ask(url, chat, { key: keys.signed, body: { model: name, messages } });
  const body = JSON.stringify({ model: name, messages });
  const signer = signerOf(new Secret(keys.signed));
  if (!signer) throw new Error("that is no key");
  const nonce = `nonce-${Date.now()}-abcdef`;
  const headers = signedHeaders(signer.secret, {
    method: "POST",
    url: chat,
    body: Buffer.from(body),
    keyId: signer.id,
    now: new Date(),
    nonce,
    covered,
  });
  expect((await ask(url, chat, { key: "none", headers, body })).status).toBe(200);
  expect((await ask(url, chat, { key: "none", headers, body })).status).toBe(401);
  // An agent with an unreachable model has its own error text.
  await misbehave(host, name, "dead-upstream");
  await lab.must("agent", "status", name, "-o", "json");
  await ask(url, chat, { body: { model: name, messages } });
  await ask(url, chat, { body: { model: name, messages, stream: true } });
  await inHost(host, `rm /home/${name}/.hermes/.standin`);
  await ask(url, "/metrics");
  await ask(url, "/v1/models");
}

async function serveAndAsk(...words: string[]): Promise<void> {
  const serving = new Serving(home, "--debug", ...words);
  const { url } = await serving.until("ready");
  await askEverything(url);
  const key = join(scratch, "key");
  writeFileSync(key, keys.signed, { mode: 0o600 });
  const relay = new Running<{ event: string; base_url: string; local_key: string }>(home, [
    ...["gateway", "sign-proxy", "--key-file", key, "--to", url.replace(/\/v1$/, ""), "--debug"],
  ]);
  const { base_url: base, local_key: local } = await relay.until("ready");
  await ask(base, "/v1/chat/completions", { key: local, body: { model: kept.value, messages: [] } });
  const relayed = await relay.stop();
  // It prints its local key, and no other secret.
  see("the sign-proxy", (relayed.stdout + relayed.stderr).replaceAll(local, ""));
  const { code, stdout, stderr } = await serving.stop();
  expect(code).toBe(0);
  see("the gateway", stdout + stderr);
  await run("gateway", "key", "list", "-o", "json");
  await run("gateway", "usage", "--by", "agent");
  await run("gateway", "env", "usual");
  await run("gateway", "key", "revoke", keys.usual, "--yes");
  await run("handoff", name, keys.usual);
  for (const more of [[], ["-o", "json"], ["--verify"]]) await run("gateway", "audit", ...more);
  await run("audit", "-o", "json");
}

const isSecretsFile = (path: string): boolean => /^(backups\/)?secrets\.json(\.\d+)?$/.test(relative(home, path));

function filesOfHome(): { where: string; text: string }[] {
  const files = filesBelow(home).filter(([path]) => !isSecretsFile(path));
  return files.map(([path, text]) => ({ where: relative(home, path), text }));
}

const leaksIn = (secrets: Planted[], texts: { where: string; text: string }[]): string[] => {
  const sought = soughtIn(secrets);
  return texts.flatMap(({ where, text }) => leaks(sought, text, where));
};

describe("with a gateway that logs no bodies", () => {
  it("no secret and no message is in its output, counters and files", { timeout: 300_000 }, async () => {
    await serveAndAsk();
    const files = filesOfHome();
    expect(files.map(({ where }) => where)).toContain("gateway/audit.jsonl");
    expect(readFileSync(join(home, "gateway", "audit.jsonl"), "utf8").split("\n").length).toBeGreaterThan(50);
    expect(leaksIn([...hidden(), said], [...seen, ...files])).toEqual([]);
  });
});

describe("with a gateway that logs bodies", () => {
  it("messages are logged, and secrets are not", { timeout: 300_000 }, async () => {
    await serveAndAsk("--log-bodies");
    const files = filesOfHome();
    expect(leaksIn([said], files)).not.toEqual([]);
    expect(leaksIn(hidden(), [...seen, ...files])).toEqual([]);
  });
});

describe("on the agent's host", () => {
  it("no gateway key is outside the agent's conversations, and no process ever had one", async () => {
    await stopWatching(host);
    const { stdout } = await onHost;
    expect(stdout).toContain("sshd");
    expect(leaks(soughtIn(hidden()), stdout, `a process of ${host}`)).toEqual([]);
    expect(await journalOf(host, hidden())).toBe("");
    const ofGateway = hidden().filter(({ name: each }) => each.startsWith("the "));
    const found = await filesOnHost(host, ofGateway);
    expect(found.filter((path) => !/\/\.hermes\/(state\.db|response_store\.db|sessions\/)/.test(path))).toEqual([]);
  });
});
