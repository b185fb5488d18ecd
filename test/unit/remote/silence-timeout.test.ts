import { PassThrough } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, it } from "vitest";
import { withSilenceTimeout } from "../../../src/remote/silence-timeout.js";

const limits = { host: "wolf-i", silence: 100 };

async function read(stream: PassThrough, more: object = {}, each: () => Promise<unknown> = async () => {}) {
  let text = "";
  for await (const chunk of withSilenceTimeout(stream, { ...limits, ...more })) {
    text += chunk;
    await each();
  }
  return text;
}

it("data is passed on to its end", async () => {
  const stream = new PassThrough();
  stream.write("one ");
  setTimeout(() => stream.end("two"), 20);
  expect(await read(stream)).toBe("one two");
});

it("a silent stream is a fault", async () => {
  const stream = new PassThrough();
  stream.write("one");
  await expect(read(stream)).rejects.toMatchObject({ fault: "remote-timeout", next: ["clm host check wolf-i"] });
});

it("an endless stream is a fault", async () => {
  const stream = new PassThrough();
  stream.write("x".repeat(2000));
  await expect(read(stream, { maxBytes: 1000 })).rejects.toMatchObject({ fault: "remote-failed" });
});

it("a reader that takes its time is not its silence", async () => {
  const stream = new PassThrough();
  stream.write("one ");
  setTimeout(() => stream.end("two"), 20);
  expect(await read(stream, {}, () => sleep(250))).toBe("one two");
});
