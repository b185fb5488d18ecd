import { PassThrough } from "node:stream";
import { describe, expect, it } from "vitest";
import { Secret } from "../../../src/secret.js";
import { Terminal } from "../../../src/ui/terminal.js";
import { memory } from "./streams.js";

/** What came out of each stream, in bytes. */
async function passed(secret: string, chunks: Buffer[]): Promise<Buffer[]> {
  const flags = { quiet: true, debug: false, noColor: true, yes: false };
  const streams = [new PassThrough(), new PassThrough()] as const;
  const heard = streams.map((stream) => {
    const all: Buffer[] = [];
    stream.on("data", (chunk) => all.push(chunk));
    return all;
  });
  const [stdout, stderr] = streams;
  const ui = new Terminal({ stdin: () => new PassThrough(), stdout, stderr, env: {}, flags });
  ui.hide(new Secret(secret));
  for (const chunk of chunks) {
    await ui.pass("stdout", chunk);
    await ui.pass("stderr", chunk);
  }
  await ui.close();
  return heard.map((all) => Buffer.concat(all));
}

const every = Buffer.from(Array.from({ length: 1024 }, (_, at) => (at * 7) % 256));

it("binary bytes pass unchanged, however they are cut", async () => {
  for (const size of [1, 3, 1024]) {
    const chunks = Array.from({ length: Math.ceil(every.length / size) }, (_, at) =>
      every.subarray(at * size, (at + 1) * size),
    );
    expect(await passed("sk-secret", chunks)).toEqual([every, every]);
  }
});

it.each(["sk-secret", "pässwörd-東京"])("%s is redacted among them, even when it is cut", async (secret) => {
  const bytes = Buffer.concat([every, Buffer.from(secret), every]);
  const expected = Buffer.concat([every, Buffer.from("[secret]"), every]);
  const cut = every.length + 4;
  expect(await passed(secret, [bytes])).toEqual([expected, expected]);
  expect(await passed(secret, [bytes.subarray(0, cut), bytes.subarray(cut)])).toEqual([expected, expected]);
});

it("withheld bytes are written at the end", async () => {
  const [out] = await passed("sk-secret", [Buffer.from("ends with sk-")]);
  expect(String(out)).toBe("ends with sk-");
});

describe("on a terminal", () => {
  const onTerminal = async (chunks: string[], { raw = false, secret = "sk-secret" } = {}) => {
    const flags = { quiet: true, debug: false, noColor: true, yes: false };
    const [stdout, stderr] = [memory({ columns: 80 }), memory({ columns: 80 })];
    const ui = new Terminal({ stdin: () => new PassThrough(), stdout, stderr, env: {}, flags });
    ui.hide(new Secret(secret));
    for (const chunk of chunks) {
      await ui.pass("stdout", Buffer.from(chunk, "latin1"), { raw });
      await ui.pass("stderr", Buffer.from(chunk, "latin1"), { raw });
    }
    await ui.close();
    expect(stderr.text()).toBe(stdout.text());
    return stdout.text();
  };

  it.each<[string, string[], string]>([
    ["text", ["plain\ttext\n"], "plain\ttext\n"],
    ["a title for the window", ["\x1b]0;owned\x07after\n"], "after\n"],
    ["a moved cursor", ["one\x1b[1A\x1b[2Ktwo\n"], "onetwo\n"],
    ["one that is cut", ["one\x1b[", "1Atwo\n"], "onetwo\n"],
    ["a line that is covered by the next", ["bad\rgood\n"], "bad\ngood\n"],
    ["lines of another system, cut in between", ["one\r", "\ntwo\r\n"], "one\ntwo\n"],
    ["a secret with a sequence inside", ["sk-\x1b[0msecret\n"], "[secret]\n"],
    ["a secret that is cut", ["sk-se", "cret\n"], "[secret]\n"],
    ["the beginning of a sequence, at the end", ["end\x1b["], "end"],
  ])("%s", async (_, chunks, shown) => {
    expect(await onTerminal(chunks)).toBe(shown);
  });

  it("with raw, sequences are passed on and secrets are not", async () => {
    expect(await onTerminal(["\x1b[31msk-secret\r\n"], { raw: true })).toBe("\x1b[31m[secret]\r\n");
  });
});
