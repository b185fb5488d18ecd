import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import {
  createServer,
  request as httpRequest,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type RequestOptions,
  type Server,
  type ServerResponse,
} from "node:http";
import { createServer as createSecureServer } from "node:https";
import { type AddressInfo, connect, createServer as createTcpServer, type Socket } from "node:net";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { afterEach, describe, expect, it } from "vitest";
import { relay } from "../../../../src/gateway/signing/relay.js";
import { signerOf } from "../../../../src/gateway/signing/sign.js";
import { Secret } from "../../../../src/secret.js";
import { scratchDirectories } from "../../state/scratch.js";
import { covered } from "./covered.js";
import { type Answer, verifying } from "./verifying.js";

const found = signerOf(new Secret(`clm_abcd1234_${"k".repeat(43)}`));
if (!found) throw new Error("no key");
const signer = found;
const local = new Secret("local-key-of-this-test");
const bearer = { authorization: `Bearer ${local.reveal()}` };
const scratch = scratchDirectories();

const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

async function listen(server: Server): Promise<string> {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  closing.push(async () => {
    server.closeAllConnections();
    await new Promise((closed) => server.close(closed));
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const relayTo = (to: string, key: Secret | undefined = local) =>
  listen(relay({ signer, to: new URL(to), local: key, covered, now: () => new Date() }));

/** A gateway that verifies, and a relay before it. */
async function both(answer: Answer, key?: Secret): Promise<string> {
  const gateway = await verifying(signer, scratch(), answer);
  closing.push(gateway.close);
  return relayTo(gateway.url, key);
}

/** The request of a tool, and the head of its answer. */
async function send(url: string, options: RequestOptions = {}, body?: Buffer): Promise<IncomingMessage> {
  const sent = httpRequest(url, { headers: bearer, ...options });
  const [answer] = (await Promise.all([once(sent, "response"), sent.end(body)]))[0] as [IncomingMessage];
  return answer;
}

const codeOf = async (answer: IncomingMessage): Promise<[number | undefined, string]> => [
  answer.statusCode,
  JSON.parse(await text(answer)).error.code,
];

interface ReceivedRequest {
  method: string | undefined;
  url: string | undefined;
  headers: IncomingHttpHeaders;
  bytes: number;
}

/** Tells what came. */
const tells: Answer = ({ method, url, headers }, body, response) => {
  const seen: ReceivedRequest = { method, url, headers, bytes: body.length };
  response.writeHead(201, { "content-type": "application/json", "x-request-id": "req-1" }).end(JSON.stringify(seen));
};

const seenBy = async (answer: IncomingMessage): Promise<ReceivedRequest> => JSON.parse(await text(answer));

describe("a tool's request", () => {
  it("arrives signed and unchanged, and so does the answer", async () => {
    const url = await both(tells);
    const headers = { ...bearer, "content-type": "application/json", "x-hermes-session-id": "s1", "x-clm-key": "mine" };
    const answer = await send(`${url}/v1/x?b=%2F&a`, { method: "POST", headers }, Buffer.from('{"a":1}'));
    expect([answer.statusCode, answer.headers["x-request-id"]]).toEqual([201, "req-1"]);
    const seen = await seenBy(answer);
    expect(seen).toMatchObject({ method: "POST", url: "/v1/x?b=%2F&a", bytes: 7 });
    expect(seen.headers).toMatchObject({
      "content-type": "application/json",
      "x-hermes-session-id": "s1",
      "content-length": "7",
      "x-clm-key": signer.id,
    });
    expect(seen.headers).not.toHaveProperty("authorization");
  });

  it("has no body when it had none, and one of any length it may have", async () => {
    const url = await both(tells);
    expect((await seenBy(await send(`${url}/v1/models`))).headers).not.toHaveProperty("content-length");
    for (const length of [0, 1, 9_000_000, 10_000_000]) {
      const answer = await send(`${url}/v1/x`, { method: "POST" }, Buffer.alloc(length, "x"));
      expect((await seenBy(answer)).bytes).toBe(length);
    }
  });

  it("may come in pieces, or ask first", async () => {
    const url = await both(tells);
    const headers = { ...bearer, "transfer-encoding": "chunked", expect: "100-continue" };
    const sent = httpRequest(`${url}/v1/x`, { method: "POST", headers });
    sent.flushHeaders();
    await once(sent, "continue");
    sent.write("ab");
    sent.end("cd");
    const [answer] = (await once(sent, "response")) as [IncomingMessage];
    const seen = await seenBy(answer);
    expect([seen.bytes, seen.headers["content-length"], seen.headers["transfer-encoding"]]).toEqual([
      4,
      "4",
      undefined,
    ]);
  });

  it("is refused when it is too long", async () => {
    const url = await both(tells);
    const sent = await send(`${url}/v1/x`, { method: "POST" }, Buffer.alloc(10_000_001));
    expect(await codeOf(sent)).toEqual([413, "body_too_large"]);
    const headers = { ...bearer, expect: "100-continue", "content-length": 10_000_001 };
    const asked = httpRequest(`${url}/v1/x`, { method: "POST", headers });
    asked.flushHeaders();
    const [early] = (await once(asked, "response")) as [IncomingMessage];
    expect(await codeOf(early)).toEqual([413, "body_too_large"]);
    expect((await send(`${url}/v1/x`)).statusCode).toBe(201);
  });

  it("each has its own nonce, many at once", async () => {
    const url = await both(tells);
    const all = await Promise.all(Array.from({ length: 50 }, async () => seenBy(await send(`${url}/v1/x`))));
    expect(new Set(all.map(({ headers }) => headers["x-clm-nonce"])).size).toBe(50);
  });
});

describe("an answer", () => {
  it("that is streamed comes piece by piece", async () => {
    let stream: ServerResponse | undefined;
    const url = await both((_, __, response) => {
      stream = response;
      response.writeHead(200, { "content-type": "text/event-stream" }).write("data: 1\n\n");
    });
    const answer = await send(`${url}/v1/x`, { method: "POST" }, Buffer.from("{}"));
    const pieces: string[] = [];
    for await (const piece of answer) {
      // The next one is sent when this one is here.
      pieces.push(String(piece));
      if (pieces.length < 4) stream?.write(`data: ${pieces.length + 1}\n\n`);
      else stream?.end();
    }
    expect(pieces).toEqual([1, 2, 3, 4].map((piece) => `data: ${piece}\n\n`));
  });

  it("is cancelled when the tool leaves, sent or not", async () => {
    const gone: Promise<unknown>[] = [];
    let came = () => {};
    const url = await both((request, _, response) => {
      gone.push(once(response, "close"));
      if (request.url === "/begun") response.write("data: 1\n\n");
      came();
    });
    const begun = await send(`${url}/begun`);
    await once(begun, "data");
    begun.destroy();
    const arrived = new Promise<void>((resolve) => {
      came = resolve;
    });
    const silent = httpRequest(`${url}/silent`, { headers: bearer });
    silent.on("error", () => {}).end();
    await arrived;
    silent.destroy();
    await Promise.all(gone);
    expect(gone).toHaveLength(2);
  });

  it("that is cut is not taken for whole", async () => {
    const url = await both((_, __, response) => {
      response.write("half", () => response.destroy());
    });
    await expect(text(await send(`${url}/v1/x`))).rejects.toThrow("aborted");
  });

  it("that is a refusal is passed on", async () => {
    const gateway = await verifying({ ...signer, secret: new Secret("another") }, scratch(), tells);
    closing.push(gateway.close);
    expect(await codeOf(await send(`${await relayTo(gateway.url)}/v1/x`))).toEqual([401, "signature_invalid"]);
  });

  it("reports that the gateway is unreachable", async () => {
    const server = createServer();
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const { port } = server.address() as AddressInfo;
    await new Promise((closed) => server.close(closed));
    const answer = await send(`${await relayTo(`http://127.0.0.1:${port}`)}/v1/x`);
    expect(await codeOf(answer)).toEqual([502, "gateway_unreachable"]);
  });
});

it("sends nothing to a gateway with an untrusted certificate", async () => {
  const dir = scratch();
  const [key, cert] = [join(dir, "key"), join(dir, "cert")];
  const words = `req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=localhost -addext subjectAltName=IP:127.0.0.1`;
  execFileSync("openssl", [...words.split(" "), "-keyout", key, "-out", cert], { stdio: "ignore" });
  let asked = 0;
  const options = { key: readFileSync(key), cert: readFileSync(cert) };
  const url = await listen(
    createSecureServer(options, (_, response) => {
      asked++;
      response.end();
    }),
  );
  const answer = await send(`${await relayTo(url.replace("http:", "https:"))}/v1/x`);
  expect(JSON.parse(await text(answer)).error).toMatchObject({
    code: "gateway_unreachable",
    message: expect.stringContaining("DEPTH_ZERO_SELF_SIGNED_CERT"),
  });
  expect(asked).toBe(0);
});

it("sends the same once more when a used connection was closed, and never twice", async () => {
  const nonces: string[] = [];
  const sockets: Socket[] = [];
  // Answers once per connection, and cuts it at a second request.
  const server = createTcpServer((socket) => {
    sockets.push(socket);
    let asked = 0;
    socket.on("error", () => {});
    socket.on("data", (chunk) => {
      nonces.push(/x-clm-nonce: (\S+)/.exec(String(chunk))?.[1] ?? "");
      if (++asked === 1 && sockets.length < 3) socket.write("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok");
      else socket.resetAndDestroy();
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  closing.push(() => new Promise((closed) => server.close(closed)));
  const url = await relayTo(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  expect(await text(await send(`${url}/1`))).toBe("ok");
  expect(await text(await send(`${url}/2`))).toBe("ok");
  expect(nonces).toHaveLength(3);
  expect(nonces[1]).toBe(nonces[2]);
  expect(await codeOf(await send(`${url}/3`))).toEqual([502, "gateway_unreachable"]);
  expect(nonces).toHaveLength(5);
});

describe("access", () => {
  it.each([
    ["nobody without a key", {}],
    ["nobody with another", { authorization: "Bearer local-key-of-this-tesT" }],
    ["nobody with half of it", { authorization: "Bearer local-key" }],
    ["nobody with it in another way", { authorization: `Basic ${local.reveal()}` }],
  ])("%s", async (_, headers) => {
    let asked = 0;
    const url = await both((...all) => {
      asked++;
      tells(...all);
    });
    expect(await codeOf(await send(`${url}/v1/x`, { headers }))).toEqual([401, "local_key_invalid"]);
    const large = await send(`${url}/v1/x`, { method: "POST", headers }, Buffer.alloc(5_000_000));
    expect(await codeOf(large)).toEqual([401, "local_key_invalid"]);
    expect(asked).toBe(0);
  });

  async function open(headers: Record<string, string>) {
    const gateway = await verifying(signer, scratch(), tells);
    closing.push(gateway.close);
    const url = await listen(
      relay({ signer, to: new URL(gateway.url), local: undefined, covered, now: () => new Date() }),
    );
    return send(`${url}/v1/x`, { headers });
  }

  it("accepts everyone on this machine with --open", async () => {
    expect((await open({})).statusCode).toBe(201);
    expect((await open({ authorization: "Bearer none" })).statusCode).toBe(201);
  });

  it.each([
    { origin: "https://evil.example" },
    { "sec-fetch-site": "cross-site" },
    { host: "evil.example:4142" },
    { host: "127.0.0.1.evil.example" },
  ])("but no page in a browser: %j", async (headers) => {
    expect(await codeOf(await open(headers as unknown as Record<string, string>))).toEqual([403, "browser_refused"]);
  });

  it("refuses requests for other targets", async () => {
    const url = new URL(await both(tells));
    const socket = connect(Number(url.port), url.hostname);
    const heads = `authorization: ${bearer.authorization}\r\nhost: x\r\nconnection: close\r\n\r\n`;
    socket.end(`GET http://elsewhere.example/v1/x HTTP/1.1\r\n${heads}`);
    expect(await text(socket)).toContain("bad_target");
  });
});
