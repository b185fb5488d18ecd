import { appendFileSync, chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { clm, inHost, type Result } from "./clm.js";
import { labFixture, withEcho } from "./fixture.js";
import { accountsOf, treeOf } from "./tree.js";

// Programs of the user's own, from install to remove, as a person would type it.

const host = "trial-1";

/** Answers HTTP on $PORT: 200 for /ok, 503 for anything else. */
const bot = `import http.server, os, words
class Answer(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200 if self.path == "/ok" else 503)
        self.end_headers()
        self.wfile.write(words.greeting().encode())
    def log_message(self, *_):
        pass
print("bot says", words.greeting(), flush=True)
http.server.HTTPServer(("127.0.0.1", int(os.environ["PORT"])), Answer).serve_forever()
`;
const words = `import os
def greeting():
    return os.environ["GREETING"] + " " + str(len(os.environ.get("BOT_TOKEN", "")))
`;

const here = mkdtempSync(join(tmpdir(), "clm-program-"));
afterAll(() => rmSync(here, { recursive: true, force: true }));

const { home, must } = labFixture();
const typed = (...args: string[]): Promise<Result> => clm(args, { home });
const set = (settings: Record<string, string>): string[] =>
  Object.entries(settings).flatMap(([name, value]) => ["--set", `${name}=${value}`]);

async function ps(name: string): Promise<Record<string, unknown>> {
  const { stdout } = await typed("ps", name, "-o", "json");
  return JSON.parse(stdout)[0];
}
const stateOf = async (name: string): Promise<unknown> =>
  JSON.parse((await must("agent", "show", name, "-o", "json")).stdout).state;
const ask = (port: number, path = "/ok"): Promise<string> => inHost(host, `curl -s http://127.0.0.1:${port}${path}`);
const pidOf = async (name: string): Promise<string> =>
  (await inHost(host, `systemctl show -p MainPID --value program-${name}.service`)).trim();

let before: { tree: string; accounts: string };
beforeAll(async () => {
  before = { tree: await treeOf(host), accounts: await accountsOf(host) };
  mkdirSync(join(here, "lib"));
  writeFileSync(join(here, "bot.py"), bot);
  writeFileSync(join(here, "lib", "words.py"), words);
  writeFileSync(join(here, "tool"), "#!/bin/sh\necho a tool\n");
  chmodSync(join(here, "tool"), 0o755);
  writeFileSync(
    join(here, "tick.sh"),
    "trap 'echo saved everything; exit 0' TERM\nwhile :; do echo tick; sleep 1; done\n",
  );
});

describe("a program with an HTTP health check", () => {
  it("is installed and configured with files, variables and a secret", async () => {
    const installed = await must("agent", "install", "--type", "program", "--host", host, "--name", "bot");
    expect(installed.stderr).toContain("next: clm agent configure bot");

    const unanswered = await typed("agent", "configure", "bot");
    expect([unanswered.code, unanswered.stderr]).toEqual([6, expect.stringContaining("--set command=…")]);

    await clm(["agent", "secret", "set", "bot", "BOT_TOKEN", "--stdin"], { home, input: "twelve-chars" });
    const { stdout, stderr } = await must(
      ...["agent", "configure", "bot"],
      ...set({
        command: "PYTHONPATH=lib exec python3 bot.py",
        files: `${here}/bot.py,${here}/lib,${here}/tool=bin/tool`,
        environment: "GREETING=hello",
        health: "http",
        health_path: "/ok",
      }),
    );
    expect(stdout).toMatch(/^health +ok +\/ok returned 200$/m);
    expect(stdout).not.toMatch(/^(auth|chat|version)/m);
    expect(stderr).toContain("trial-1:program:bot is ready");
    expect(await ask(8700)).toBe("hello 12");
    const files = await inHost(host, "cd /home/bot/app && find . -type f ! -name '*.pyc' -printf '%P %m %u\\n' | sort");
    expect(files).toBe("bin/tool 700 bot\nbot.py 600 bot\nlib/words.py 600 bot\n");
  });

  it("configured the same again changes nothing", async () => {
    const pid = await pidOf("bot");
    const { stdout } = await must("agent", "configure", "bot");
    expect(stdout).toContain("nothing was changed");
    expect(await pidOf("bot")).toBe(pid);
  });

  it("shows in ps, status, show, logs and doctor", async () => {
    expect(await ps("bot")).toMatchObject({ state: "running", port: 8700, drift: "no" });
    expect((await must("agent", "status", "bot")).stdout).toMatch(/^health +ok/m);
    expect((await must("agent", "show", "bot")).stdout).toMatch(/^Command: +PYTHONPATH=lib exec python3 bot.py$/m);
    expect((await must("agent", "logs", "bot")).stdout).toContain("bot says hello 12");
    expect((await must("agent", "doctor", "bot")).stdout).toContain("all passed");
    const env = (await must("agent", "exec", "bot", "--", "env")).stdout;
    expect(env).toContain("PORT=8700\n");
    expect(env).not.toContain("twelve-chars");
  });

  it("a changed local file shows in diff, and sync copies it", async () => {
    appendFileSync(join(here, "lib", "words.py"), "print('changed', flush=True)\n");
    const differs = await typed("diff", "bot");
    expect([differs.code, differs.stdout]).toEqual([3, expect.stringContaining("/home/bot/app/lib/words.py")]);
    expect(differs.stdout).not.toContain("bot.py");
    const pid = await pidOf("bot");
    await must("agent", "sync", "bot");
    expect(await pidOf("bot")).not.toBe(pid);
    expect((await typed("diff", "bot")).code).toBe(0);
    expect((await must("agent", "logs", "bot")).stdout).toContain("changed");
  });

  it("a file that is not named any more goes, and whether it starts without it is seen", async () => {
    const pid = await pidOf("bot");
    await must("agent", "configure", "bot", ...set({ files: `${here}/bot.py,${here}/lib` }));
    expect(await pidOf("bot")).not.toBe(pid);
    expect(await inHost(host, "find /home/bot/app -name tool")).toBe("");
    const without = await typed("agent", "configure", "bot", ...set({ files: `${here}/bot.py` }));
    expect([without.code, without.stderr]).toEqual([1, expect.stringContaining("No module named 'words'")]);
    await must("agent", "configure", "bot", ...set({ files: `${here}/bot.py,${here}/lib` }));
  });

  it("stops and starts", async () => {
    await must("agent", "stop", "bot");
    expect(await ps("bot")).toMatchObject({ state: "stopped" });
    expect((await must("agent", "start", "bot")).stdout).toMatch(/^health +ok/m);
    await must("agent", "restart", "bot");
    expect(await ps("bot")).toMatchObject({ state: "running" });
  });

  it.each([
    [["agent", "rotate-key", "bot"], "API key"],
    [["agent", "key", "bot", "--show"], "API key"],
    [["chat", "bot", "--once", "hello"], "chat"],
    [["agent", "sessions", "list", "bot"], "sessions"],
    [["agent", "memory", "info", "bot"], "memory"],
    [["agent", "proxy", "status", "bot"], "proxy"],
    [["agent", "open", "bot"], "dashboard"],
    [["agent", "configure", "bot", "--provider", "echo"], "model provider"],
    [["agent", "configure", "bot", "--channel", "discord"], "channels or MCP servers"],
  ])("%j says that programs have none", async (args, what) => {
    const { code, stderr } = await typed(...args);
    expect([code, stderr]).toEqual([17, expect.stringContaining(`program agents have no ${what}`)]);
  });

  it("refuses what it cannot keep, before anything changes", async () => {
    const pid = await pidOf("bot");
    for (const [settings, message] of [
      [{ command: "" }, "it must be answered"],
      [{ files: `${here}/nothing` }, `${here}/nothing cannot be read`],
      [{ environment: "PORT=1" }, "PORT cannot be set: it is managed by clm"],
      [{ environment: "API_KEY=0123456789abcdef" }, "looks like a secret"],
    ] as const) {
      const { code, stderr } = await typed("agent", "configure", "bot", ...set(settings));
      expect([code, stderr]).toEqual([2, expect.stringContaining(message)]);
    }
    expect([await pidOf("bot"), await stateOf("bot")]).toEqual([pid, "ready"]);
  });

  it("that is not well is told with its reason, and is not ready", async () => {
    const { code, stderr } = await typed("agent", "configure", "bot", ...set({ health_path: "/other" }));
    expect([code, stderr]).toEqual([1, expect.stringContaining("health: /other returned 503")]);
    expect(await stateOf("bot")).toBe("validate");
    expect(await ps("bot")).toMatchObject({ state: "failed", reason: expect.stringContaining("/other returned 503") });
    expect((await typed("agent", "restart", "bot")).code).toBe(8);
    await must("agent", "configure", "bot", ...set({ health_path: "/ok" }));
    expect(await stateOf("bot")).toBe("ready");
  });
});

describe("other health checks", () => {
  it("tcp: it must listen, on the loopback alone", async () => {
    const { stdout } = await must("agent", "configure", "bot", ...set({ health: "tcp" }));
    expect(stdout).toMatch(/^port +ok/m);
    expect(stdout).not.toMatch(/^health/m);
    const deaf = await typed("agent", "configure", "bot", ...set({ command: "exec python3 -m http.server $PORT" }));
    expect([deaf.code, deaf.stderr]).toEqual([1, expect.stringContaining("it listens on 0.0.0.0:8700")]);
  });

  it("none: it must run, and may not be open to other machines either", async () => {
    const open = await typed("agent", "configure", "bot", ...set({ health: "none" }));
    expect([open.code, open.stderr]).toEqual([1, expect.stringContaining("listens on 0.0.0.0:8700")]);
    const command = "sh tick.sh";
    const { stdout } = await must("agent", "configure", "bot", ...set({ command, files: `${here}/tick.sh` }));
    expect(stdout).not.toMatch(/^(port|health)/m);
    expect(await ps("bot")).toMatchObject({ state: "running" });
    expect(await inHost(host, "find /home/bot/app -type f ! -name '*.pyc'")).toBe("/home/bot/app/tick.sh\n");
    // It may end in its own way, though a shell started it.
    await must("agent", "stop", "bot");
    expect((await must("agent", "logs", "bot")).stdout).toContain("saved everything");
  });

  it("a program that ends again and again is told so, with its last words", async () => {
    const { code, stderr } = await typed("agent", "configure", "bot", ...set({ command: "echo no luck; exit 3" }));
    expect(code).toBe(1);
    expect(stderr).toContain("exit-code 3");
    expect(stderr).toContain("its last output: no luck");
    expect(await ps("bot")).toMatchObject({ state: "failed", reason: expect.stringContaining("ends again and again") });
    expect(await stateOf("bot")).toBe("validate");
  });
});

describe("beside an agent of another type", () => {
  it("each has its own port and keeps working", async () => {
    await must(
      "provider",
      "add",
      "echo",
      "--type",
      "ollama",
      "--endpoint",
      "http://127.0.0.1:4180",
      "--model",
      "echo-1",
    );
    await must("agent", "install", "--type", "hermes", "--host", host, "--name", "ada");
    await must("agent", "configure", "ada", ...withEcho);
    await must("agent", "install", "--type", "program", "--host", host, "--name", "cat");
    const serve = "exec python3 -m http.server --bind 127.0.0.1 $PORT";
    await must("agent", "configure", "cat", ...set({ command: serve, health: "http" }));
    const ports = (await Promise.all(["ada", "bot", "cat"].map(ps))).map(({ port }) => port);
    expect(ports).toEqual([8642, 8700, 8701]);
    const taken = await typed("agent", "configure", "cat", "--port", "8642");
    expect([taken.code, taken.stderr]).toEqual([expect.any(Number), expect.stringContaining("8642")]);
    expect(taken.code).not.toBe(0);
    expect((await must("chat", "ada", "--once", "hello")).stdout).toContain("echo: hello");
    expect(await ps("cat")).toMatchObject({ state: "running" });
  });

  it("remove leaves the host as it was", async () => {
    const removed = await must("agent", "remove", "bot", "--yes");
    expect(removed.stderr).toContain("without .env");
    expect((await must("chat", "ada", "--once", "hello")).stdout).toContain("echo: hello");
    await must("agent", "remove", "cat", "--yes", "--no-backup");
    await must("agent", "remove", "ada", "--yes", "--no-backup");
    expect(await accountsOf(host)).toBe(before.accounts);
    expect(await treeOf(host)).toBe(before.tree);
    const units = "systemctl list-units --all --no-legend 'program-*' 'clm-job-*'";
    expect(await inHost(host, `${units}; pgrep -f 'http[.]server|bot[.]py' || true`)).toBe("");
    expect((await must("agent", "list", "-o", "json")).stdout.trim()).toBe("[]");
  });
});
