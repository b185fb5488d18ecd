import { spawn, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { loadType } from "../../../src/agents/manifest/registry.js";
import { loginsIn } from "../../../src/agents/proxy/probe.js";
import { asker, startEcho } from "./standin-process.js";

// The stand-in's proxy, run here and asked over the loopback, as each release that has one.

const run = `import sys
from hermes_cli import logins, proxy
calls = {"command": proxy.command, "auth": logins.command}
sys.exit(calls[sys.argv[1]](sys.argv[2:], lambda text: 64))`;

/** A release's proxy with a home of its own. */
function release(number: string) {
  const home = mkdtempSync(join(tmpdir(), "clm-standin-proxy-"));
  const modules = join(home, "modules", "hermes_cli");
  mkdirSync(modules, { recursive: true });
  for (const name of ["proxy.py", "logins.py", "settings.py"])
    copyFileSync(`templates/standin/hermes/${name}`, join(modules, name));
  writeFileSync(join(modules, "__init__.py"), `__version__ = "${number}"\n__release_date__ = "x"\n`);
  // Replaced by stubs: they are not tested here, and this machine may not have them.
  writeFileSync(join(home, "modules", "yaml.py"), "");
  writeFileSync(join(home, "modules", "dotenv.py"), "load_dotenv = None\n");
  const env = { ...process.env, HERMES_HOME: home, PYTHONPATH: join(home, "modules"), PYTHONDONTWRITEBYTECODE: "1" };
  const auth = join(home, "auth.json");
  const call = (...words: string[]) => spawnSync("python3", ["-c", run, ...words], { env, encoding: "utf8" });
  return {
    call,
    auth,
    login(to: number, ...words: string[]) {
      expect(call(...words).status).toBe(0);
      writeFileSync(auth, readFileSync(auth, "utf8").replaceAll("127.0.0.1:4180", `127.0.0.1:${to}`));
      return JSON.parse(readFileSync(auth, "utf8"));
    },
    async start(provider: string) {
      const port = await freePort();
      const child = spawn("python3", ["-c", run, "command", "start", "--provider", provider, "--port", `${port}`], {
        env,
        stdio: ["ignore", "ignore", "pipe"],
      });
      for await (const line of createInterface(child.stderr)) if (line.includes("Listening on")) break;
      child.stderr.resume();
      const stop = async (signal: NodeJS.Signals) => {
        const gone = once(child, "exit");
        child.kill(signal);
        return (await gone)[0];
      };
      return { port, ask: asker(port), stop };
    },
    remove: () => rmSync(home, { recursive: true }),
  };
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as { port: number };
  server.close();
  await once(server, "close");
  return port;
}

const digest = (token: string) => `present:${createHash("sha256").update(token).digest("hex").slice(0, 12)}`;

let echo: Awaited<ReturnType<typeof startEcho>>;
beforeAll(async () => {
  echo = await startEcho();
});
afterAll(() => echo.stop());

describe.each([
  ["0.14.0", ["nous"]],
  ["0.15.0", ["nous", "xai"]],
  ["0.18.0", ["nous", "xai"]],
])("the proxy of %s", (number, providers) => {
  const made = release(number);
  afterAll(made.remove);

  it(`lends ${providers.join(", ")}`, async () => {
    const { manifest } = await loadType("/nonexistent", "hermes");
    const told = made.call("command", "status").stdout;
    const logins = manifest.proxy && loginsIn(told, manifest.proxy.status);
    expect(logins).toEqual(providers.map((provider) => ({ provider, state: "not logged in", ready: false })));
    const unknown = made.call("command", "start", "--provider", providers.includes("xai") ? "claude" : "xai");
    expect([unknown.status, unknown.stderr]).toEqual([2, expect.stringContaining("Unknown proxy upstream provider")]);
    const out = made.call("command", "start");
    expect([out.status, out.stderr]).toEqual([2, expect.stringContaining("Not logged into Nous Portal")]);
  });

  it("passes known paths on with the stored token, and nothing else", async () => {
    const { access_token: token } = made.login(echo.port, "auth", "add", "nous", "--type", "oauth", "--no-browser")
      .providers.nous;
    expect(statSync(made.auth).mode & 0o777).toBe(0o600);
    const { port, ask, stop } = await made.start("nous");
    expect(JSON.parse((await ask("/health")).body)).toEqual({
      status: "ok",
      upstream: "Nous Portal",
      authenticated: true,
    });
    const body = { model: "echo", messages: [{ role: "user", content: "hello there" }] };
    const plain = await ask("/v1/chat/completions?x=1", body);
    expect([plain.status, plain.headers["x-echo-authorization"]]).toEqual([200, digest(token)]);
    expect(JSON.parse(plain.body).choices[0].message.content).toBe("echo: hello there");
    const streamed = await ask("/v1/chat/completions", { ...body, stream: true });
    expect(streamed.body.trimEnd().endsWith("data: [DONE]")).toBe(true);
    expect((await ask("/v1/models")).status).toBe(200);

    const other = await ask("/v1/responses", { model: "echo", input: "hello" });
    expect([other.status, JSON.parse(other.body).error.code]).toEqual([404, "path_not_allowed"]);
    const largest = 1_048_576 - JSON.stringify({ pad: "" }).length;
    expect((await ask("/v1/completions", { pad: "x".repeat(largest) })).status).not.toBe(413);
    const large = await ask("/v1/completions", { pad: "x".repeat(largest + 1) });
    expect([large.status, large.headers["content-type"]]).toEqual([413, "text/plain; charset=utf-8"]);

    const second = made.call("command", "start", "--port", String(port));
    expect([second.status, second.stderr]).toEqual([1, expect.stringContaining("failed to bind")]);
    expect(await stop("SIGTERM")).toBe(0);
  });

  it.runIf(providers.includes("xai"))("lends the login at xai, with responses", async () => {
    const said = made.login(echo.port, "auth", "add", "xai-oauth", "--type", "oauth");
    // The other login is still there.
    expect(said.providers.nous.access_token).toBeTruthy();
    const { ask, stop } = await made.start("xai");
    const reply = await ask("/v1/responses", { model: "echo", input: "hello" });
    const [{ access_token: token }] = said.credential_pool["xai-oauth"];
    expect([reply.status, reply.headers["x-echo-authorization"]]).toEqual([200, digest(token)]);
    expect(await stop("SIGINT")).toBe(0);
  });

  it("reports an unreachable upstream", async () => {
    made.login(await freePort(), "auth", "add", "nous", "--type", "oauth", "--no-browser");
    const { ask, stop } = await made.start("nous");
    const reply = await ask("/v1/models");
    expect([reply.status, JSON.parse(reply.body).error.code]).toEqual([502, "upstream_unreachable"]);
    writeFileSync(made.auth, "{}");
    expect(JSON.parse((await ask("/health")).body).authenticated).toBe(false);
    const refused = await ask("/v1/models");
    expect([refused.status, JSON.parse(refused.body).error.code]).toEqual([401, "upstream_auth_failed"]);
    expect(await stop("SIGTERM")).toBe(0);
  });
});
