import { PassThrough, Writable } from "node:stream";
import { describe, expect, it, vi } from "vitest";
import { Secret } from "../../../src/secret.js";
import { json } from "../../../src/ui/format.js";
import { wantsColour } from "../../../src/ui/paint.js";
import { Terminal, type TerminalOptions } from "../../../src/ui/terminal.js";
import type { Ui } from "../../../src/ui/ui.js";
import { keyboard, memory } from "./streams.js";

const silent = { quiet: false, debug: false, noColor: false, yes: false };

function open(options: Partial<TerminalOptions> & { tty?: boolean } = {}) {
  const tty = options.tty ? { columns: 40 } : undefined;
  const stdout = memory(tty);
  const stderr = memory(tty);
  const terminal = new Terminal({
    stdin: () => new PassThrough(),
    stdout,
    stderr,
    env: {},
    flags: silent,
    ...options,
  });
  return { terminal, stdout, stderr };
}

describe("where things go", () => {
  it("results to stdout as they are, everything else to stderr", async () => {
    const { terminal, stdout, stderr } = open();
    terminal.out("a\u001b[1mb");
    terminal.out("c\n");
    terminal.note("a note");
    terminal.warn("a warning");
    terminal.debug("not asked for");
    await terminal.close();
    expect(stdout.text()).toBe("a\u001b[1mbc\n");
    expect(stderr.text()).toBe("a note\nwarning: a warning\n");
  });

  it.each(["message", "error", "{", '"', ":", "why"])("data can be read when a secret is %s", async (secret) => {
    const { terminal, stdout, stderr } = open();
    terminal.hide(new Secret(secret));
    terminal.hide(new Secret("hunter22"));
    const told = { message: "the key is hunter22", why: [{ at: new Date(0), "hunter22 of": 5, status: "error" }] };
    terminal.data(told, json);
    terminal.data({ error: told }, json, "stderr");
    await terminal.close();
    const shown = JSON.parse(stdout.text());
    expect(shown).toMatchObject({ message: "the key is [secret]", why: [{ "[secret] of": 5, status: "error" }] });
    expect(JSON.parse(stderr.text()).error).toEqual(shown);
  });

  it("data comes after earlier messages", async () => {
    const { terminal, stdout } = open();
    terminal.hide(new Secret("abcdef"));
    // Kept back: it may be the beginning of the secret.
    terminal.out("abc");
    terminal.data([], json);
    await terminal.close();
    expect(stdout.text()).toBe("abc[]\n");
  });

  it("quiet keeps warnings and errors", () => {
    const { terminal, stderr } = open({ flags: { ...silent, quiet: true } });
    terminal.note("a note");
    terminal.progress("work").done();
    terminal.warn("a warning");
    terminal.say("error: x");
    expect(stderr.text()).toBe("warning: a warning\nerror: x\n");
  });

  it.each([
    [{}, "a note\nwork ...\nfailed: work\nwarning: a warning\nerror: x\n"],
    [{ structured: true }, "a note\nwarning: a warning\nerror: x\n"],
  ])("a program that reads JSON sees no progress: %j", (options, text) => {
    const { terminal, stderr } = open(options);
    terminal.note("a note");
    terminal.progress("work").fail();
    terminal.warn("a warning");
    terminal.say("error: x");
    expect(stderr.text()).toBe(text);
  });

  it("a user who asked for JSON sees progress", () => {
    const { terminal, stderr } = open({ structured: true, tty: true });
    terminal.note("a note");
    terminal.progress("work").done();
    expect(stderr.text()).toContain("a note\n");
    expect(stderr.text()).toContain("work\n");
  });

  it("--debug prints more", () => {
    const { terminal, stderr } = open({ flags: { ...silent, debug: true } });
    terminal.debug("a step");
    expect(stderr.text()).toMatch(/^debug \+\d+ms a step\n$/);
  });

  it("removes escape sequences from output of hosts", () => {
    const { terminal, stderr } = open();
    terminal.note("host says \u001b[2J\u001b]0;x\u0007hello");
    terminal.warn("\u202eevil");
    terminal.progress("install \u001b[31mred").fail("\u0007no\nreally");
    expect(stderr.text()).toBe("host says hello\nwarning: evil\ninstall red ...\nfailed: no really\n");
  });
});

describe("secrets", () => {
  it("show nowhere", async () => {
    const { terminal, stdout, stderr } = open({ flags: { ...silent, debug: true } });
    terminal.hide(new Secret("hunter2000"));
    terminal.out("it is hunt");
    terminal.out("er2000\n");
    terminal.note("hunter2000");
    terminal.warn("hunter2000");
    terminal.debug("hunter2000");
    terminal.say("hunter2000");
    const work = terminal.progress("hunter2000");
    work.output("hunter2000");
    work.done("hunter2000");
    await expect(terminal.ask({ message: "hunter2000?", flag: "--x" })).rejects.toThrow("[secret]");
    await terminal.close();
    expect(stdout.text()).toBe("it is [secret]\n");
    expect(stderr.text()).not.toContain("hunter");
  });

  it("are redacted in output that is written elsewhere", () => {
    const { terminal, stdout, stderr } = open();
    terminal.hide(new Secret("hunter2000"));
    expect(terminal.redact("--token=hunter2000\n\tx")).toBe("--token=[secret]\n\tx");
    expect([stdout.text(), stderr.text()]).toEqual(["", ""]);
  });

  it("a secret that is handed out is printed once, after earlier output", async () => {
    const { terminal, stdout } = open();
    const secret = new Secret("hunter2000");
    terminal.hide(secret);
    terminal.out("hunt");
    terminal.handOut(secret, "key: ");
    terminal.out("hunter2000\n");
    await terminal.close();
    expect(stdout.text()).toBe("huntkey: hunter2000\n[secret]\n");
    expect([terminal.watched, open({ tty: true }).terminal.watched]).toEqual([false, true]);
  });

  it("are let go of when they were none, at the end", async () => {
    const { terminal, stdout } = open();
    terminal.hide(new Secret("hunter2000"));
    terminal.out("hunter");
    expect(stdout.text()).toBe("");
    await terminal.close();
    expect(stdout.text()).toBe("hunter");
  });
});

describe("colour", () => {
  const tty = memory({ columns: 80 });
  const pipe = memory();
  it.each([
    ["a terminal", tty, {}, false, true],
    ["a pipe", pipe, {}, false, false],
    ["--no-color", tty, { FORCE_COLOR: "1" }, true, false],
    ["NO_COLOR", tty, { NO_COLOR: "1" }, false, false],
    ["NO_COLOR empty", tty, { NO_COLOR: "" }, false, true],
    ["NO_COLOR and FORCE_COLOR", tty, { NO_COLOR: "1", FORCE_COLOR: "1" }, false, false],
    ["FORCE_COLOR", pipe, { FORCE_COLOR: "1" }, false, true],
    ["FORCE_COLOR=0", tty, { FORCE_COLOR: "0" }, false, false],
    ["TERM=dumb", tty, { TERM: "dumb" }, false, false],
  ])("%s", (_, stream, env, noColor, on) => expect(wantsColour(stream, env, noColor)).toBe(on));

  it("reaches the warnings", () => {
    const { terminal, stderr } = open({ env: { FORCE_COLOR: "1" } });
    terminal.warn("w");
    expect(stderr.text()).toBe("\u001b[33mwarning:\u001b[39m w\n");
  });
});

describe("a reader that goes away", () => {
  const broken = (code: string) =>
    new Writable({ write: (_chunk, _encoding, done) => done(Object.assign(new Error(code), { code })) });

  it("is reported once and nothing throws", async () => {
    const onOutputClosed = vi.fn();
    const { terminal } = open({ stdout: broken("EPIPE"), onOutputClosed });
    terminal.out("a\n");
    terminal.out("b\n");
    await terminal.close();
    expect(onOutputClosed).toHaveBeenCalledOnce();
    expect(terminal.outputClosed).toBe(true);
  });

  it("is not the same as a full disk", async () => {
    const { terminal } = open({ stdout: broken("ENOSPC") });
    terminal.out("a\n");
    await expect(terminal.close()).rejects.toMatchObject({ fault: "local-setup", why: ["ENOSPC"] });
    expect(terminal.outputClosed).toBe(false);
  });

  it("stops no work when it read the remarks", async () => {
    const { terminal, stdout } = open({ stderr: broken("EPIPE") });
    terminal.note("a");
    terminal.note("b");
    terminal.out("result\n");
    await terminal.close();
    expect(stdout.text()).toBe("result\n");
  });
});

describe("questions", () => {
  const question = { message: "Forget host wolf-i?", flag: "--yes" };

  it("without a terminal name the flag that answers them", async () => {
    const { terminal } = open();
    expect(terminal.interactive).toBe(false);
    for (const asked of [terminal.confirm(question), terminal.ask(question), terminal.askSecret(question)]) {
      await expect(asked).rejects.toMatchObject({
        fault: "needs-answer",
        message: "no terminal to prompt on: Forget host wolf-i?",
        why: ["--yes answers it"],
      });
    }
  });

  it("are answered by --yes when that is their flag, and only then", async () => {
    const { terminal } = open({ flags: { ...silent, yes: true } });
    await expect(terminal.confirm(question)).resolves.toBe(true);
    await expect(terminal.confirm({ ...question, flag: "--accept-new" })).rejects.toMatchObject({
      fault: "needs-answer",
    });
  });

  async function typing(text: string) {
    const stdin = keyboard();
    const { terminal, stdout, stderr } = open({ tty: true, stdin: () => stdin });
    expect(terminal.interactive).toBe(true);
    const whenAsked = async <T>(answer: Promise<T>): Promise<T> => {
      await vi.waitUntil(() => stderr.text().includes("?"), { timeout: 10_000 });
      stdin.type(text);
      return answer;
    };
    return { terminal, stdout, stderr, whenAsked };
  }

  it.each([
    ["y\r", true],
    ["\r", false],
    ["n\r", false],
  ])("yes or no: %j", async (text, answer) => {
    const { terminal, stdout, stderr, whenAsked } = await typing(text);
    await expect(whenAsked(terminal.confirm(question))).resolves.toBe(answer);
    expect(stderr.text()).toContain("Forget host wolf-i?");
    expect(stdout.text()).toBe("");
  });

  it("text, with a first guess", async () => {
    const { terminal, whenAsked } = await typing("\r");
    await expect(whenAsked(terminal.ask({ message: "User?", flag: "--user", initial: "maurice" }))).resolves.toBe(
      "maurice",
    );
  });

  it("a secret, which does not show, whatever is pressed", async () => {
    const { terminal, stdout, stderr, whenAsked } = await typing("hunter2000\u0014\r");
    const secret = await whenAsked(terminal.askSecret({ message: "sudo password?", flag: "--sudo-password-file" }));
    expect(secret.reveal()).toBe("hunter2000");
    terminal.out("it was hunter2000\n");
    expect(stdout.text()).toBe("it was [secret]\n");
    expect(stderr.text()).not.toContain("hunter2000");
  });

  it("end with Ctrl-C", async () => {
    const { terminal, whenAsked } = await typing("\u0003");
    await expect(whenAsked(terminal.confirm(question))).rejects.toMatchObject({ fault: "interrupted" });
  });

  it.each<[string, (ui: Ui) => Promise<unknown>]>([
    ["yes or no", (ui) => ui.confirm(question)],
    ["text", (ui) => ui.ask(question)],
    ["a secret", (ui) => ui.askSecret(question)],
  ])("end with Ctrl-D: %s", async (_, ask) => {
    const { terminal, whenAsked } = await typing("\u0004");
    await expect(whenAsked(ask(terminal))).rejects.toMatchObject({
      fault: "interrupted",
      message: "stopped at a prompt",
      why: ["Forget host wolf-i?"],
    });
  });

  it("end when the terminal goes away", async () => {
    const stdin = keyboard();
    const { terminal, stderr } = open({ tty: true, stdin: () => stdin });
    const ended = expect(terminal.ask(question)).rejects.toMatchObject({ fault: "interrupted" });
    await vi.waitUntil(() => stderr.text().includes("?"), { timeout: 10_000 });
    stdin.push(null);
    await ended;
  });

  it("can be repeated after an aborted one, and one after the other", async () => {
    const stdin = keyboard();
    const { terminal, stderr } = open({ tty: true, stdin: () => stdin });
    const listening = () => ["pause", "close"].map((event) => stdin.listenerCount(event));
    const before = listening();
    const answers: unknown[] = [];
    for (const [text, message] of [
      ["\u0004", "first?"],
      ["y\r", "second?"],
      ["y\r", "third?"],
    ] as const) {
      const answer = terminal.confirm({ message, flag: "--x" }).catch((error) => error.fault);
      await vi.waitUntil(() => stderr.text().includes(message), { timeout: 10_000 });
      stdin.type(text);
      answers.push(await answer);
    }
    expect(answers).toEqual(["interrupted", true, true]);
    expect(listening()).toEqual(before);
  });

  it("end when clm is asked to stop", async () => {
    const stop = new AbortController();
    const stdin = keyboard();
    const { terminal, stderr } = open({ tty: true, stdin: () => stdin, signal: stop.signal });
    const answer = terminal.confirm(question);
    const ended = expect(answer).rejects.toMatchObject({ fault: "interrupted" });
    await vi.waitUntil(() => stderr.text().includes("?"), { timeout: 10_000 });
    stop.abort();
    await ended;
  });
});
