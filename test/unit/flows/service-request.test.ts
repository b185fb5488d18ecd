import type { ServerResponse } from "node:http";
import { createServer, type Server } from "node:net";
import { afterAll, afterEach, describe, expect, it } from "vitest";
import type { ServiceRequest } from "../../../src/agents/manifest/manifest.js";
import { askService } from "../../../src/flows/service-request.js";
import type { Connection } from "../../../src/remote/connection.js";
import { Secret } from "../../../src/secret.js";
import { localShells } from "../remote/operations/local-shell.js";
import { faultOf, scratchDirectories } from "../state/scratch.js";
import { inSession } from "./in-session.js";
import { type VendorRequest, vendors } from "./vendor.js";

const scratch = scratchDirectories();
const vendor = vendors();
const { shells, close } = localShells();
afterAll(close);
const [dash] = shells;
const open: Server[] = [];
afterEach(() => open.splice(0).forEach((server) => void server.close()));

const planted = `sk-planted"\\'$HOME{a,b}[1-3]%0a`;

/** Both ways must give the same result: our own client, and curl on a host. */
const roads: [string, Connection | undefined][] = [
  ["here", undefined],
  ["a host", dash as unknown as Connection],
];

const request = (parts: Partial<ServiceRequest> & { url: string }): ServiceRequest => ({
  method: "GET",
  headers: {},
  expect: [200],
  ...parts,
});

const ask = async (
  question: ServiceRequest,
  from: Connection | undefined,
  values: Record<string, string | Secret> = {},
  timeout = 15_000,
) => {
  const { result, said } = await inSession({ configDir: scratch() }, (session) =>
    askService(session, question, values, from, timeout),
  );
  return { ...result, said: said() };
};

describe.each(roads)("asked from %s", (_, from) => {
  it("every placeholder is filled in and arrives unchanged", async () => {
    const { url, host, asked } = await vendor((_, response) => response.end("{}"));
    const question = request({
      method: "POST",
      url: `${url}/v1/{{model}}?q={a,b}[1-3]`,
      headers: { Authorization: "Bearer {{api_key}}", "X-Team": "{{team}}" },
      body: {
        model: "{{model}}",
        messages: [{ role: "user", content: 'say "hi"\n\\t\t@/etc/passwd' }],
        team: "{{team}}",
      },
    });
    const check = await ask(question, from, { api_key: new Secret(planted), model: "m1" });
    expect(check).toMatchObject({ result: "ok", reason: `${host} answers (200)` });
    expect(asked).toHaveLength(1);
    expect(asked[0]).toMatchObject({ method: "POST", headers: { authorization: `Bearer ${planted}` } });
    expect(asked[0]?.path).toBe("/v1/m1?q={a,b}[1-3]");
    expect(asked[0]?.headers).not.toHaveProperty("x-team");
    expect(asked[0]?.headers["content-type"]).toBe("application/json");
    expect(JSON.parse(asked[0]?.body ?? "")).toEqual({
      model: "m1",
      messages: [{ role: "user", content: 'say "hi"\n\\t\t@/etc/passwd' }],
    });
  });

  it.each<
    [string, Partial<ServiceRequest>, (response: ServerResponse, asked: VendorRequest) => unknown, string, RegExp]
  >([
    [
      "a key refused",
      {},
      json(401, { error: { code: "invalid_api_key" } }),
      "fail",
      /refused the key \(401, invalid_api_key\)/,
    ],
    ["a key not let in", {}, json(403, {}), "fail", /refused the key \(403\)/],
    ["a wrong address", {}, json(404, "nothing here"), "fail", /has nothing at that path \(404\)/],
    ["no credit", {}, json(402, {}), "fail", /requires payment/],
    [
      "too many questions",
      {},
      json(429, { error: "rate_limited" }),
      "warn",
      /limits the request rate \(429, rate_limited\)/,
    ],
    ["trouble over there", {}, json(503, {}), "fail", /has an error \(503\)/],
    ["an odd answer", {}, json(418, {}), "fail", /did not accept the request \(418\)/],
    ["a web page", {}, (response) => response.end("<html>Welcome</html>"), "fail", /not with JSON/],
    ["nothing at all, which is no trouble", { expect: [204] }, json(204), "ok", /answers \(204\)/],
    ["another status that is expected", { expect: [200, 400] }, json(400, {}), "ok", /answers \(400\)/],
    ["yes", { says: "ok" }, json(200, { ok: true }), "ok", /answers/],
    [
      "no, in its own word",
      { says: "ok" },
      json(200, { ok: false, error: "invalid_auth" }),
      "fail",
      /rejected the request: invalid_auth/,
    ],
    ["not quite yes", { says: "ok" }, json(200, { ok: "true" }), "fail", /ok is not true/],
    ["a page instead of yes", { says: "ok" }, (response) => response.end(""), "fail", /not with JSON/],
    ["more than anybody reads", {}, (response) => response.end(`"${"x".repeat(1_100_000)}"`), "fail", /more than 1 MB/],
    ["a hang-up", {}, (response) => response.destroy(), "fail", /does not speak HTTP/],
    [
      "its key, told back",
      {},
      (response, { headers }) => json(400, { error: `bad key ${headers.authorization}` })(response),
      "fail",
      /bad key Bearer \[secret\]/,
    ],
  ])("%s", async (_, parts, answer, result, reason) => {
    const { url } = await vendor((asked, response) => answer(response, asked));
    const question = request({ url: `${url}/`, headers: { Authorization: "Bearer {{api_key}}" }, ...parts });
    const check = await ask(question, from, { api_key: new Secret("sk-planted-0123456789") });
    expect(check).toMatchObject({ result, reason: expect.stringMatching(reason) });
    expect(check.result === "ok" || check.fix !== undefined).toBe(true);
    expect(JSON.stringify(check)).not.toContain("sk-planted");
  });

  it("a redirect is not followed, and the key stays", async () => {
    const elsewhere = await vendor((_, response) => response.end("{}"));
    const { url } = await vendor((_, response) => response.writeHead(302, { location: `${elsewhere.url}/?k=1` }).end());
    const check = await ask(request({ url }), from);
    expect(check).toMatchObject({
      result: "fail",
      reason: expect.stringContaining(`redirects to ${elsewhere.host} (302)`),
    });
    expect(elsewhere.asked).toEqual([]);
  });

  it("an address that contains a key is never shown", async () => {
    const { url, host, asked } = await vendor((_, response) => json(404, {})(response));
    const check = await ask(request({ url: `${url}/bot{{token}}/getMe` }), from, { token: new Secret("123:planted") });
    expect(asked[0]?.path).toBe("/bot123:planted/getMe");
    expect(check.reason).toBe(`${host} has nothing at that path (404)`);
  });

  it("an unknown name", async () => {
    const check = await ask(request({ url: "http://no-such-name.invalid/" }), from);
    expect(check).toMatchObject({ result: "fail", reason: "the name no-such-name.invalid does not resolve" });
  });

  it("a port without a listener", async () => {
    const { url, host, close } = await vendor(() => {});
    await close();
    expect((await ask(request({ url }), from)).reason).toBe(`connection refused at ${host}`);
  });

  it("no answer in time", async () => {
    const { url, host } = await vendor(() => {});
    expect((await ask(request({ url }), from, {}, 300)).reason).toBe(`no answer from ${host} in time`);
  });

  it("TLS to a port without TLS", async () => {
    const { url } = await vendor((_, response) => response.end("{}"));
    expect((await ask(request({ url: url.replace("http:", "https:") }), from)).reason).toMatch(
      /^no secure connection to/,
    );
  });

  it("something else than HTTP", async () => {
    const server = createServer((socket) => socket.end("SSH-2.0-OpenSSH_9.2\r\n"));
    open.push(server);
    const port = await new Promise((done) =>
      server.listen(0, "127.0.0.1", () => done((server.address() as { port: number }).port)),
    );
    expect((await ask(request({ url: `http://127.0.0.1:${port}/` }), from)).reason).toMatch(/does not speak HTTP/);
  });

  it("is skipped while its address is not known", async () => {
    expect(await ask(request({ url: "{{endpoint}}/models" }), from)).toMatchObject({ result: "skipped" });
  });

  it.each(["not an address", "ftp://a/", "file:///etc/passwd"])("%s is no address to ask", async (url) => {
    const fault = await faultOf(() => ask(request({ url: "{{endpoint}}" }), from, { endpoint: url }));
    expect(fault.fault).toBe("bad-input");
  });

  it("a value cannot add a header", async () => {
    const { url, asked } = await vendor((_, response) => response.end("{}"));
    const question = request({ url, headers: { Authorization: "{{api_key}}" } });
    const fault = await faultOf(() => ask(question, from, { api_key: new Secret("a\r\nX-Evil: 1") }));
    expect(fault.message).toBe("the value for the header authorization is not valid");
    expect(asked).toEqual([]);
  });
});

it("a host is asked with one command without arguments", () => {
  expect(new Set(dash?.commands)).toEqual(new Set(["curl -q --config -"]));
});

it("a host without curl is reported", async () => {
  const { shells: bare, close: forget } = localShells({ wrap: (command) => `PATH=/nowhere; ${command}` });
  const check = await ask(request({ url: "http://127.0.0.1:1/" }), bare[0] as unknown as Connection);
  forget();
  expect(check).toMatchObject({ result: "fail", reason: "curl is not installed on the host" });
});

function json(status: number, body?: unknown) {
  return (response: ServerResponse) => {
    response.writeHead(status, { "content-type": "application/json" });
    response.end(body === undefined ? undefined : JSON.stringify(body));
  };
}
