import { afterEach, expect, it, vi } from "vitest";
import { Lines } from "../../../src/ui/lines.js";
import { keyboard, memory } from "./streams.js";

function atPrompt() {
  const stdin = keyboard();
  const stderr = memory({ columns: 80 });
  const stop = new AbortController();
  const lines = new Lines({ stdin, stderr, prompt: "ada> ", signal: stop.signal });
  return { lines, stderr, stop, type: stdin.type };
}

afterEach(() => void vi.unstubAllEnvs());

const tick = () => new Promise((done) => setTimeout(done, 5));

it("a line is a message", async () => {
  const { lines, type, stderr } = atPrompt();
  const message = lines.next();
  expect(stderr.text()).toContain("ada> ");
  type("hello\r");
  expect(await message).toBe("hello");
  lines.close();
});

it("pasted text is one message, even without a final newline", async () => {
  const { lines, type } = atPrompt();
  const whole = lines.next();
  type("one\rtwo\r");
  expect(await whole).toBe("one\ntwo");
  const open = lines.next();
  type("one\rtwo");
  await new Promise((done) => setTimeout(done, 60));
  type("\r");
  expect(await open).toBe("one\ntwo");
  lines.close();
});

it.each([
  ["Ctrl-D", "\u0004"],
  ["Ctrl-C", "\u0003"],
])("%s at an empty line leaves", async (_key, typed) => {
  const { lines, type } = atPrompt();
  const message = lines.next();
  type(typed);
  expect(await message).toBeUndefined();
  lines.close();
});

it.each(["xterm", "dumb"])("Ctrl-C discards the typed text (%s)", async (term) => {
  vi.stubEnv("TERM", term);
  const { lines, type, stderr } = atPrompt();
  const message = lines.next();
  type("wrong");
  await tick();
  type("\u0003");
  await tick();
  expect(stderr.text()).toMatch(/wrong\n[^\n]*ada> [^\n]*$/);
  type("right\r");
  expect(await message).toBe("right");
  lines.close();
});

it("Ctrl-C stops the work, and text typed meanwhile is shown only at the next prompt", async () => {
  const { lines, type, stderr } = atPrompt();
  const before = stderr.text();
  const stop = new AbortController();
  const work = () =>
    new Promise<string>((done) => {
      stop.signal.addEventListener("abort", () => done("stopped"));
      type("ahead\r\u0003");
    });
  const stopped = await lines.during(work, () => stop.abort());
  expect([stopped, stderr.text()]).toEqual(["stopped", before]);
  expect(await lines.next()).toBe("ahead");
  expect(stderr.text()).toContain("ada> ahead\n");
  lines.close();
});

it("an abort signal ends the waiting", async () => {
  const { lines, stop: signal } = atPrompt();
  const message = lines.next();
  signal.abort();
  expect(await message).toBeUndefined();
  expect(await lines.next()).toBeUndefined();
});
