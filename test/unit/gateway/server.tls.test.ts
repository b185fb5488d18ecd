import { once } from "node:events";
import { request } from "node:https";
import { connect } from "node:net";
import { text } from "node:stream/consumers";
import { expect, it } from "vitest";
import { betweens } from "./between.js";
import { certificate } from "./certificate.js";
import { chat, completion, says } from "./test-gateway.js";

const { between } = betweens();
const tls = certificate();

function talk(port: number): Promise<{ status: number | undefined; said: string }> {
  return new Promise((done, failed) => {
    const headers = { authorization: "Bearer good", "content-type": "application/json" };
    const options = { host: "127.0.0.1", port, path: "/v1/chat/completions", method: "POST", ca: tls.cert, headers };
    request(options, async (answer) => done({ status: answer.statusCode, said: await text(answer) }))
      .on("error", failed)
      .end(chat());
  });
}

it("answers clients that trust its certificate, and none without TLS", async () => {
  const { gateway } = await between(says("hi"), { settings: { tls } });
  expect(gateway.url).toMatch(/^https:/);
  expect(await talk(gateway.port)).toEqual({ status: 200, said: completion("hi") });
  const plain = connect(gateway.port, "127.0.0.1");
  plain.on("error", () => {});
  plain.write("GET /health HTTP/1.1\r\nHost: x\r\n\r\n");
  expect(await text(plain).catch(() => "")).not.toContain("HTTP/1.1 200");
});

it("does not wait for silent connections when it stops", async () => {
  const { gateway } = await between(says("hi"), { settings: { tls } });
  const silent = connect(gateway.port, "127.0.0.1");
  silent.on("error", () => {});
  await once(silent, "connect");
  await talk(gateway.port);
  const gone = once(silent, "close");
  // It would be for two minutes, which is more than a test has.
  await gateway.stop();
  await gone;
});
