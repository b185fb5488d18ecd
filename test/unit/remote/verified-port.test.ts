import { Duplex } from "node:stream";
import { expect, it } from "vitest";
import { Fault } from "../../../src/errors.js";
import type { Connection } from "../../../src/remote/connection.js";
import { VerifiedPort } from "../../../src/remote/verified-port.js";

/** A port controlled by the test: its events in order, and the running checks. */
function inHands(forward?: () => Promise<Duplex>) {
  const happened: string[] = [];
  const streams: Duplex[] = [];
  const looks: { pass(): void; fail(error: Fault): void }[] = [];
  const open = async () => {
    happened.push("open");
    const stream = new Duplex({ read() {}, write: () => {} });
    streams.push(stream);
    return stream;
  };
  const connection = { target: { name: "wolf" }, forward: forward ?? open } as unknown as Connection;
  const port = new VerifiedPort(connection, 8642, () => {
    happened.push("look");
    return new Promise((pass, fail) => looks.push({ pass, fail }));
  });
  return { port, happened, streams, looks };
}

const settled = () => new Promise(setImmediate);
const stolen = new Fault("check-failed", "somebody else has the port");

it("a connection is handed out after a look that began when it was open", async () => {
  const { port, happened, streams, looks } = inHands();
  const opened = port.open();
  let isThere = false;
  void opened.then(() => {
    isThere = true;
  });
  await settled();
  expect([happened, isThere]).toEqual([["open", "look"], false]);
  looks[0]?.pass();
  expect(await opened).toBe(streams[0]);
});

it("one look is for all that were open when it began, and for none that came later", async () => {
  const { port, happened, looks } = inHands();
  const first = port.open();
  await settled();
  const later = [port.open(), port.open(), port.open()];
  await settled();
  expect(happened).toEqual(["open", "look", "open", "open", "open"]);
  looks[0]?.pass();
  await first;
  await settled();
  expect(happened.at(-1)).toBe("look");
  looks[1]?.fail(stolen);
  expect((await Promise.allSettled(later)).map(({ status }) => status)).toEqual(Array(3).fill("rejected"));
  expect(looks).toHaveLength(2);
});

it("a foreign connection is closed, and the next one is checked again", async () => {
  const { port, streams, looks } = inHands();
  const refused = port.open();
  await settled();
  looks[0]?.fail(stolen);
  await expect(refused).rejects.toBe(stolen);
  expect(streams[0]?.destroyed).toBe(true);
  const next = port.open();
  await settled();
  looks[1]?.pass();
  expect((await next).destroyed).toBe(false);
});

it("what broke off during the look is not handed out", async () => {
  const { port, streams, looks } = inHands();
  const opened = port.open();
  await settled();
  streams[0]?.destroy();
  looks[0]?.pass();
  await expect(opened).rejects.toMatchObject({ fault: "remote-failed" });
});

it("without a listener the check gives the reason, and a lost host is not asked", async () => {
  const stopped = new Fault("not-ready", "ada is stopped");
  const silent = inHands(() => Promise.reject(new Fault("remote-failed", "cannot reach 127.0.0.1:8642")));
  const opened = silent.port.open();
  await settled();
  silent.looks[0]?.fail(stopped);
  await expect(opened).rejects.toBe(stopped);
  const lost = inHands(() => Promise.reject(new Fault("connection-lost", "gone")));
  await expect(lost.port.open()).rejects.toMatchObject({ fault: "connection-lost" });
  expect(lost.happened).toEqual([]);
});
