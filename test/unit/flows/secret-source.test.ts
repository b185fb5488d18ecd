import { chmodSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { describe, expect, it } from "vitest";
import { parseSource, referenceOf, secretFrom } from "../../../src/flows/secret-source.js";
import type { Setting } from "../../../src/flows/session.js";
import { faultOf, scratchDirectories } from "../state/scratch.js";
import { inSession } from "./in-session.js";

const scratch = scratchDirectories();
const planted = "sk-planted/0123+456789==";

const fetch = (text: string, setting: Partial<Setting> = {}) =>
  inSession({ configDir: scratch(), ...setting }, async (session) => {
    const secret = await secretFrom(session, parseSource(text), { what: "the key", flag: "--key-stdin" });
    session.ui.say(`shown: ${secret.reveal()}`);
    return secret.reveal();
  });

const piped = (text: string) => () => {
  const stream = new PassThrough();
  stream.end(text);
  return stream;
};

function fileWith(content: string | Buffer, mode = 0o600): string {
  const path = join(scratch(), "key file");
  writeFileSync(path, content);
  chmodSync(path, mode);
  return path;
}

describe("a source", () => {
  it.each([
    ["env:API_KEY", { kind: "env", name: "API_KEY" }],
    ["file:/a b/c:d", { kind: "file", path: "/a b/c:d" }],
    ["cmd:pass show 'a b' | head -1", { kind: "cmd", command: "pass show 'a b' | head -1" }],
  ])("%s is read, and spelled the same", (text, source) => {
    expect(parseSource(text)).toEqual(source);
    expect(referenceOf(parseSource(text))).toBe(text);
  });

  it.each(["-", "prompt"])("%s is one, that cannot be asked again", (text) => {
    expect(referenceOf(parseSource(text))).toBeUndefined();
  });

  it("of a file means the same from everywhere", () => {
    expect(parseSource("file:key")).toEqual({ kind: "file", path: join(process.cwd(), "key") });
    expect(parseSource("file:~/key")).toEqual({ kind: "file", path: join(process.env.HOME ?? "", "key") });
  });

  it.each([planted, "", "env:", `env:${planted}`, "file:", "cmd: ", "ENV:X", "prompt ", `http:${planted}`])(
    "%j is refused and not repeated",
    async (text) => {
      const fault = await faultOf(() => parseSource(text));
      expect(fault.fault).toBe("bad-input");
      expect(JSON.stringify([fault.message, fault.why, fault.next, fault.data])).not.toContain("planted");
    },
  );
});

describe("a secret", () => {
  it("comes from a variable, and never shows", async () => {
    const { result, said } = await fetch("env:KEY", { env: { KEY: planted } });
    expect(result).toBe(planted);
    expect(said()).toBe("shown: [secret]\n");
  });

  it.each([
    ["a\n", "a"],
    ["a\r\n", "a"],
    [" a b ", " a b "],
  ])("comes from a file %j without its last line's end", async (content, value) => {
    expect((await fetch(`file:${fileWith(content)}`)).result).toBe(value);
  });

  it("in a file that others can read is taken, with a warning", async () => {
    const path = fileWith(planted, 0o640);
    const { result, said } = await fetch(`file:${path}`);
    expect(result).toBe(planted);
    expect(said()).toContain(`warning: others can read ${path}: chmod 600 '${path}'`);
  });

  it("comes from a command, whose stderr is redacted", async () => {
    const { result, said } = await fetch('cmd:echo "using $KEY" >&2; echo "$KEY"', { env: { KEY: planted } });
    expect(result).toBe(planted);
    expect(said()).toBe("using [secret]\nshown: [secret]\n");
  });

  it("comes from stdin once", async () => {
    const { result } = await fetch("-", { stdin: piped(`${planted}\n`) });
    expect(result).toBe(planted);
    const fault = await faultOf(() =>
      inSession({ configDir: scratch(), stdin: piped("a\n") }, async (session) => {
        await secretFrom(session, { kind: "stdin" }, { what: "the secret", flag: "--x" });
        await secretFrom(session, { kind: "stdin" }, { what: "the other key", flag: "--x" });
      }),
    );
    expect(fault).toMatchObject({ fault: "bad-input", message: expect.stringContaining("the other key") });
  });

  it("is asked for by a prompt, or the flag is named without a terminal", async () => {
    const fault = await faultOf(() => fetch("prompt"));
    expect(fault).toMatchObject({ fault: "needs-answer", data: { flag: "--key-stdin" } });
  });

  it.each<[string, string, Partial<Setting>, RegExp]>([
    ["of an unset variable", "env:KEY", {}, /\$KEY, which is not set/],
    ["that is empty", "env:KEY", { env: { KEY: "" } }, /the key is empty/],
    ["of blanks", "env:KEY", { env: { KEY: "  " } }, /the key is empty/],
    ["of two lines", "-", { stdin: piped(`${planted}\n${planted}\n`) }, /more than one line/],
    ["with a control character", "env:KEY", { env: { KEY: `${planted}\u001b` } }, /control character/],
    ["without end", "cmd:yes sk-planted", {}, /cannot be read from the command yes/],
    ["of an empty stdin", "-", { stdin: piped("") }, /the key is empty/],
    ["of a missing file", "file:/nowhere/key", {}, /cannot be read from \/nowhere\/key/],
    ["of a directory", "file:/", {}, /cannot be read from \//],
    ["of a command that fails", "cmd:echo sk-planted; exit 3", {}, /the command echo failed/],
    ["of no command", "cmd:/nowhere/planted-program x", {}, /failed/],
  ])("%s is refused", async (_, text, setting, message) => {
    const fault = await faultOf(() => fetch(text, setting));
    expect(["bad-input", "local-setup"]).toContain(fault.fault);
    expect(fault.message).toMatch(message);
    expect([fault.message, ...fault.why, ...fault.next].join()).not.toContain("sk-planted");
  });

  it("that is not text is refused", async () => {
    expect((await faultOf(() => fetch(`file:${fileWith(Buffer.from([0xff, 0xfe, 0x41]))}`))).message).toMatch(
      /is not text/,
    );
  });

  it("is not waited for after an abort", async () => {
    const stop = new AbortController();
    const waiting = fetch("cmd:sleep 60", { signal: stop.signal });
    setImmediate(() => stop.abort(new Error("told to stop")));
    await expect(waiting).rejects.toThrow("told to stop");
    const never = new AbortController();
    const reading = fetch("-", { signal: never.signal, stdin: () => new PassThrough() });
    setImmediate(() => never.abort(new Error("told to stop")));
    await expect(reading).rejects.toThrow("told to stop");
  });
});
