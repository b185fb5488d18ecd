import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { runCli, type World } from "../../../../src/cli/run.js";
import { signerOf } from "../../../../src/gateway/signing/sign.js";
import { Secret } from "../../../../src/secret.js";
import { verifying } from "../../gateway/signing/verifying.js";
import { scratchDirectories } from "../../state/scratch.js";
import { memory } from "../../ui/streams.js";
import { clm } from "../world.js";

const freshDirectory = scratchDirectories();
let dir: string;
beforeEach(() => {
  dir = freshDirectory();
});

const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

describe("gateway sign-proxy", () => {
  const key = `clm_abcd1234_${"k".repeat(43)}`;
  const signer = signerOf(new Secret(key));
  if (!signer) throw new Error("no key");

  async function gateway() {
    const opened = await verifying(
      signer as NonNullable<typeof signer>,
      freshDirectory(),
      ({ url }, body, response) => {
        if (url === "/v1/models") response.end(JSON.stringify({ data: [{ id: "ada" }, { id: "bad\nname" }] }));
        else response.end(`signed ${body}`);
      },
    );
    closing.push(opened.close);
    return opened.url;
  }

  /** Runs it until it prints that it is ready. */
  async function started(words: string[], world: Partial<World> = {}) {
    const stop = new AbortController();
    const [stdout, stderr] = [memory(), memory()];
    const ended = runCli(["--config-dir", join(dir, "none"), "gateway", "sign-proxy", ...words], {
      stdin: () => new PassThrough().end(`${key}\n`),
      stdout,
      stderr,
      env: { HOME: "/nowhere" },
      now: () => new Date(),
      signal: stop.signal,
      ...world,
    });
    const json = words.includes("json");
    await Promise.race([
      ended,
      vi.waitFor(() => expect((json ? stdout : stderr).text()).toContain(json ? "\n" : "until Ctrl-C"), 20_000),
    ]);
    const end = async () => {
      stop.abort();
      const code = await ended;
      // The key and its derived secrets appear nowhere.
      expect(stdout.text() + stderr.text()).not.toMatch(new RegExp(`k{43}|${signer?.secret.reveal()}`));
      return code;
    };
    return { end, stdout, stderr, ready: () => JSON.parse(stdout.text()) };
  }

  const ask = async (base: string, bearer: string) => {
    const headers = { authorization: `Bearer ${bearer}` };
    const answer = await fetch(`${base}/chat/completions`, { method: "POST", headers, body: "hello" });
    return [answer.status, await answer.text()];
  };

  it("signs for callers with its local key, which is shown once, until Ctrl-C", async () => {
    const running = await started(["--to", await gateway()]);
    const [, local = ""] = /^export CLM_GATEWAY_KEY=(local_\S{32})$/m.exec(running.stdout.text()) ?? [];
    const [, base = ""] = /^export OPENAI_BASE_URL=(\S+)$/m.exec(running.stdout.text()) ?? [];
    expect(running.stdout.text()).toContain("export OPENAI_MODEL=ada\n");
    expect(running.stdout.text().split(local)).toHaveLength(2);
    expect(running.stderr.text()).not.toContain(local);
    expect(await ask(base, local)).toEqual([200, "signed hello"]);
    expect((await ask(base, "another"))[0]).toBe(401);
    expect(await running.end()).toBe(0);
    await expect(ask(base, local)).rejects.toThrow("fetch failed");
  });

  it("prints one line of JSON", async () => {
    const url = await gateway();
    const running = await started(["--to", url, "-o", "json", "--tool", "codex"]);
    const { base_url, local_key, ...rest } = running.ready();
    expect(rest).toMatchObject({ event: "ready", gateway: url, key: "abcd1234", open: false, models: ["ada"] });
    expect(rest.settings[0].text).toContain(`base_url = "${base_url}"`);
    expect(await ask(base_url, local_key)).toEqual([200, "signed hello"]);
    expect(await running.end()).toBe(0);
    expect(running.stdout.text().trimEnd().split("\n")).toHaveLength(1);
  });

  it("takes the key from a file or a variable, and a local key that stays", async () => {
    const url = await gateway();
    const file = join(dir, "key");
    writeFileSync(file, `${key}\n`, { mode: 0o600 });
    const env = { HOME: "/nowhere", KEY: key, LOCAL: "a-local-key-of-mine" };
    for (const from of [
      ["--key-file", file],
      ["--key-env", "KEY"],
    ]) {
      const running = await started(["--to", url, ...from, "--local-key", "env:LOCAL", "-o", "json"], { env });
      expect(running.ready()).not.toHaveProperty("local_key");
      expect(await ask(running.ready().base_url, env.LOCAL)).toEqual([200, "signed hello"]);
      await running.end();
      expect(running.stdout.text()).not.toContain(env.LOCAL);
    }
  });

  it("--open needs no key, with a warning", async () => {
    const running = await started(["--to", await gateway(), "--open"]);
    const [, base = ""] = /^export OPENAI_BASE_URL=(\S+)$/m.exec(running.stdout.text()) ?? [];
    expect(running.stderr.text()).toContain("every user and program of this machine can now use the key abcd1234");
    expect(await ask(base, "none")).toEqual([200, "signed hello"]);
    await running.end();
  });

  it("starts before the gateway, and reports that it does not answer yet", async () => {
    const server = createServer().listen(0, "127.0.0.1");
    await once(server, "listening");
    const { port } = server.address() as AddressInfo;
    await new Promise((closed) => server.close(closed));
    const running = await started(["--to", `http://127.0.0.1:${port}`]);
    expect(running.stderr.text()).toContain("does not answer yet (ECONNREFUSED): clm gateway serve");
    expect(await running.end()).toBe(0);
  });

  it("reports that something else answers at the gateway's address", async () => {
    const server = createServer((socket) => {
      socket.end("HTTP/1.1 200 OK\r\nContent-Length: 6\r\nConnection: close\r\n\r\n<html>");
    }).listen(0, "127.0.0.1");
    await once(server, "listening");
    const running = await started(["--to", `http://127.0.0.1:${(server.address() as AddressInfo).port}`]);
    expect(running.stderr.text()).toContain("is not a clm gateway: its answer is not JSON");
    expect(await running.end()).toBe(0);
    server.close();
  });

  it("reports that the gateway refuses the key", async () => {
    const other = `clm_zzzz1234_${"k".repeat(43)}`;
    const running = await started(["--to", await gateway()], { stdin: () => new PassThrough().end(other) });
    expect(running.stderr.text()).toContain("the gateway refuses this key: The signature");
    await running.end();
  });

  it.each([
    ["a gateway elsewhere without TLS", ["--to", "http://gw.example:4141"], 2, "unencrypted over the network"],
    ["a password in the address", ["--to", "https://u:hunter2@gw.example"], 2, "not the URL of a gateway"],
    ["a key for a variable", ["--key-env", key], 2, "a key is never an argument"],
    ["a key for a file", ["--key-file", key], 2, "a key is never an argument"],
    ["what is no variable", ["--key-env", "hunter2 hunter2"], 2, "a key is never an argument"],
    ["a local key as an argument", ["--local-key", "hunter2hunter2hunter2"], 2, "a secret is never an argument"],
    ["a local key that is soon guessed", ["--local-key", "env:SHORT"], 2, "easy to guess"],
    ["two keys", ["--key-env", "KEY", "--key-file", "x"], 2, "exclude each other"],
    ["two words about the local key", ["--open", "--local-key", "env:SHORT"], 2, "exclude each other"],
    ["what is no key", ["--key-env", "SHORT"], 2, "that is not a gateway key"],
    ["a variable that is not set", ["--key-env", "NOTHING"], 2, "which is not set"],
  ])("refuses %s", async (_, words, exit, told) => {
    const { code, stdout, stderr } = await clm(["gateway", "sign-proxy", ...words], {
      env: { HOME: "/nowhere", SHORT: "hunter2", KEY: key },
      stdin: () => new PassThrough().end(key),
    });
    expect([code, stdout]).toEqual([exit, ""]);
    expect(stderr).toContain(told);
    expect(stderr).not.toMatch(/hunter2|kkkkk/);
  });

  it("names the port in use", async () => {
    const server = createServer().listen(0, "127.0.0.1");
    await once(server, "listening");
    closing.push(() => new Promise((closed) => server.close(closed)));
    const { port } = server.address() as AddressInfo;
    const { code, stderr } = await clm(["gateway", "sign-proxy", "--port", String(port)], {
      stdin: () => new PassThrough().end(key),
    });
    expect(code).toBe(5);
    expect(stderr).toContain(`local port ${port} cannot be used`);
  });
});
