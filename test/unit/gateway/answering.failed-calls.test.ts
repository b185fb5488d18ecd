import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Standin, standins } from "../../../src/lab/standin.js";
import { manifestFailures } from "../agents/chat/forms.js";
import { startEcho, startStandin } from "../lab/standin-process.js";
import { ask, door, served, type TestGateway } from "./test-gateway.js";

// A real gateway in front of the lab's stand-in Hermes, whose provider fails in every possible way.

let echo: Awaited<ReturnType<typeof startEcho>>;
beforeAll(async () => {
  echo = await startEcho();
});
afterAll(() => echo.stop());

const paths = ["/v1/chat/completions", "/v1/responses"] as const;
const bodies = {
  "/v1/chat/completions": { messages: [{ role: "user", content: "hi" }] },
  "/v1/responses": { input: "hi" },
};
const said = (path: (typeof paths)[number], stream: boolean) =>
  JSON.stringify({ model: "ada", ...bodies[path], ...(stream && { stream }) });
const ways = paths.flatMap((path) => [false, true].map((stream) => ({ path, stream })));

describe.each(Object.keys(standins) as Standin[])("Hermes %s", (version) => {
  let agent: Awaited<ReturnType<typeof startStandin>>;
  let gateway: TestGateway;
  beforeAll(async () => {
    agent = await startStandin(version, echo.port);
    const key = "0123456789abcdef".repeat(4);
    gateway = await door({ port: agent.port, agents: [served({ signs: manifestFailures })], bearerNow: () => key });
  });
  afterAll(async () => {
    await gateway.stop();
    await agent.stop();
  });

  const failing = [
    { model: "http-401-x", code: "provider_refused_key" },
    { model: "http-400-x", code: "provider_refused_request" },
    { model: "http-402-x", code: "provider_account_empty" },
    { model: "http-500-x", code: "provider_failed" },
    { model: "empty-x", code: expect.stringMatching(/^(agent_failed|agent_incomplete)$/) },
  ].flatMap((failure) => ways.map((way) => ({ ...failure, ...way })));

  it.each(failing)("$model on $path, stream $stream, is a failure", async ({ model, code, path, stream }) => {
    agent.useModel(model);
    gateway.lines.length = gateway.settled.length = 0;
    const { status, text, whole } = await ask(gateway, path, { body: said(path, stream) });
    if (stream) {
      expect([status, whole]).toEqual([200, true]);
      expect(text).not.toMatch(/\[DONE\]|"finish_reason": ?"stop"|response\.completed|"status": ?"completed"/);
      expect(text).toContain(path === "/v1/responses" ? "event: response.failed\n" : `data: {"error":`);
    } else {
      expect(status).toBe(502);
      expect(JSON.parse(text).error.message).not.toBe("");
    }
    // Before 0.18 a failed stream has no reason, so its cause is unknown.
    const untold = stream && path === "/v1/chat/completions" && version === "2026.5.7";
    expect(gateway.lines).toMatchObject([{ ending: { status: 502, code: untold ? "agent_failed" : code } }]);
    if (model !== "empty-x") expect(gateway.settled).toEqual(["released"]);
  });

  it.each(ways)("a slow model answers on $path, stream $stream", async ({ path, stream }) => {
    agent.useModel("wait-1-x");
    gateway.lines.length = 0;
    const { status, text, whole } = await ask(gateway, path, { body: said(path, stream) });
    expect([status, whole, text.includes("echo: ")]).toEqual([200, true, true]);
    expect(gateway.lines).toMatchObject([{ ending: { status: 200 } }]);
    expect(gateway.lines[0]?.ending.code).toBeUndefined();
  });
});
