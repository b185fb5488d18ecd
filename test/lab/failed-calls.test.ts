import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { clm, inHost } from "./clm.js";
import { labFixture, withEcho } from "./fixture.js";
import { newKey, Serving } from "./serving.js";

// A provider that is slow, refuses the key or the request, fails or never answers: every command reports it correctly.

const host = "trial-1";
const versions = [
  ["0.13", "vera", "2026.5.7+standin"],
  ["0.18", "vito", "2026.7.1+standin"],
] as const;
let serving: Serving;
let url: string;
let key: string;

const lab = labFixture({ agents: versions.map(([, name, version]) => ({ host, name, version, configure: withEcho })) });
const { home } = lab;
beforeAll(async () => {
  serving = new Serving(home);
  ({ url } = await serving.until("ready"));
  key = await newKey(home, "--name", "truth", "--agents", "*");
});
afterAll(async () => {
  await serving?.stop();
});

/** The stand-in reads it at every turn, without a restart. */
const useModel = (name: string, model: string) =>
  inHost(host, `sed -i -E 's/echo-1|[a-z]+-[0-9]*-?x$/${model}/' /home/${name}/.hermes/config.yaml`);

const paths = [
  { path: "/chat/completions", said: { messages: [{ role: "user", content: "hello" }] } },
  { path: "/responses", said: { input: "hello" } },
];
async function ask(name: string, path: string, said: object): Promise<{ status: number; text: string }> {
  const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
  const body = JSON.stringify({ model: name, ...said });
  const answer = await fetch(`${url}${path}`, { method: "POST", headers, body });
  return { status: answer.status, text: await answer.text() };
}
const lastLine = async (): Promise<{ status: number; code?: string; streamed?: true }> => {
  const { stdout } = await lab.must("gateway", "audit", "--limit", "1", "-o", "json");
  return JSON.parse(stdout).at(-1);
};

describe.each(versions)("%s", (_about, name) => {
  it.each(["http-401-x", "http-400-x", "http-500-x", "empty-x"])("%s", async (model) => {
    await useModel(name, model);
    const { code, done } = await lab.configure(name, "--stage", "validate");
    const proof = done.proofs.find(({ id }: { id: string }) => id === "chat");
    expect([code, proof.result]).toEqual([1, "fail"]);
    const status = /\d+/.exec(model)?.[0];
    if (status) expect(proof.reason).toContain(status);

    const said = await clm(["chat", name, "--once", "hello"], { home });
    expect([said.code, said.stdout], said.stderr).toEqual([16, ""]);

    for (const { path, said } of paths) {
      expect((await ask(name, path, said)).status).toBe(502);
      expect(await lastLine()).toMatchObject({ status: 502, code: expect.any(String) });
      const { text } = await ask(name, path, { ...said, stream: true });
      expect(text).not.toMatch(/\[DONE\]|response\.completed/);
      expect(text).toMatch(/^data: \{"error":|^event: response\.failed$/m);
      expect(await lastLine()).toMatchObject({ status: 502, code: expect.any(String), streamed: true });
    }
  });

  it("a model that takes 10 s answers", async () => {
    await useModel(name, "wait-10-x");
    const { code, done, stderr } = await lab.configure(name, "--stage", "validate");
    expect([code, done.state], stderr).toEqual([0, "ready"]);
    expect((await clm(["chat", name, "--once", "hello"], { home })).stdout).toBe("echo: hello\n");
    await Promise.all(
      paths.flatMap(({ path, said }) =>
        [false, true].map(async (stream) => {
          const { status, text } = await ask(name, path, { ...said, stream });
          expect([status, text.includes("echo: ")]).toEqual([200, true]);
        }),
      ),
    );
    expect((await lastLine()).code).toBeUndefined();
  });
});

it("two keys whose conversations start alike never see each other's", async () => {
  const [, name] = versions[1];
  await useModel(name, "echo-1");
  const other = await newKey(home, "--name", "other", "--agents", "*");
  const say = async (bearer: string, content: string, session?: string) => {
    const headers: Record<string, string> = { authorization: `Bearer ${bearer}`, "content-type": "application/json" };
    if (session !== undefined) headers["x-hermes-session-id"] = session;
    const body = JSON.stringify({ model: name, messages: [{ role: "user", content }] });
    const answer = await fetch(`${url}/chat/completions`, { method: "POST", headers, body });
    const { choices } = (await answer.json()) as { choices: { message: { content: string } }[] };
    return { text: choices[0]?.message.content, session: answer.headers.get("x-hermes-session-id") ?? "" };
  };
  const words = "The door has a new code.";
  const mine = await say(key, words);
  const theirs = await say(other, words);
  const turns = async (bearer: string, session: string) => (await say(bearer, "how many turns", session)).text;
  expect(await turns(key, mine.session)).toBe("turns: 2");
  expect(await turns(other, theirs.session)).toBe("turns: 2");
  expect(await turns(other, mine.session)).toBe("turns: 1");
});
