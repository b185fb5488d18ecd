import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, describe, expect, it } from "vitest";
import { newPrivateKey } from "../../../src/flows/keypair.js";
import { askHostPartially } from "../../../src/remote/ask-host.js";
import { type ConnectOptions, connect } from "../../../src/remote/connect.js";
import type { Connection } from "../../../src/remote/connection.js";
import { pin } from "../../../src/remote/host-keys/pins.js";
import { trustIn } from "../../../src/remote/host-keys/trust.js";
import { ask } from "../../../src/remote/http.js";
import { converge } from "../../../src/remote/operations/converge.js";
import { dir } from "../../../src/remote/operations/operation.js";
import { createPool } from "../../../src/remote/pool.js";
import { run } from "../../../src/remote/run.js";
import { sharedShell } from "../../../src/remote/shared-shell.js";
import { type HostileHost, stages, startForwardingHost, startHostileHost } from "../../faults/hostile-host.js";

const home = mkdtempSync(join(tmpdir(), "clm-hostile-"));
const ownKey = join(home, "key");
mkdirSync(home, { recursive: true });
writeFileSync(ownKey, newPrivateKey("test"), { mode: 0o600 });
afterAll(() => rmSync(home, { recursive: true, force: true }));

const opened: { close(): unknown }[] = [];
afterEach(async () => {
  for (const each of opened.splice(0).reverse()) await each.close();
});

const nobody = async () => undefined;
const timeout = 700;
// What a wait may take here: several deadlines of `patience`, on a machine that is busy with other tests.
const bounded = 15_000;

async function targetOf(host: HostileHost) {
  const target = {
    name: `h${host.port}`,
    address: host.address,
    port: host.port,
    user: "me",
    sudo: "passwordless" as const,
  };
  await pin(home, target.name, host.key);
  return target;
}

const means = (signal?: AbortSignal): ConnectOptions => ({
  trust: trustIn(home),
  credentials: { passphrase: nobody, password: nobody, sudo: nobody },
  env: { ...process.env, SSH_AUTH_SOCK: undefined },
  ownKey,
  timeout,
  signal,
});

async function started(stage: (typeof stages)[number]) {
  const host = await startHostileHost(stage);
  opened.push(host);
  return host;
}

/** How it ends, and after how many milliseconds; `undefined` when it did not in time. */
async function ending(work: Promise<unknown>): Promise<{ fault: string } | undefined> {
  const never = new Promise<undefined>((resolve) => {
    setTimeout(() => resolve(undefined), bounded).unref();
  });
  return Promise.race([
    work.then(
      () => ({ fault: "none" }),
      (error) => ({ fault: error.fault ?? error.message }),
    ),
    never,
  ]);
}

const asking = (signal = new AbortController().signal) => ({
  host: "h",
  what: "its status",
  timeout: timeout,
  signal,
});

const uses: Record<string, (connection: Connection, signal?: AbortSignal) => Promise<unknown>> = {
  "a command": (connection, signal) =>
    run(connection, "true", { timeout: timeout, maxBytes: 1 << 20, ...(signal && { signal }) }),
  "a command of root's": (connection, signal) =>
    run(connection.as("root"), "true", { timeout: timeout, maxBytes: 1 << 20, ...(signal && { signal }) }),
  "a question": async (connection, signal) => {
    throw (await askHostPartially(await sharedShell(connection.as("root")), "true\n", asking(signal))).fault;
  },
  "a list of operations": (connection, signal) =>
    converge(connection.as("root"), [dir("/x", { owner: "root", mode: 0o700 })], {
      mode: "check",
      timeout: timeout,
      ...(signal && { signal }),
    }),
};

describe.each(stages.filter(({ connects }) => !connects))("a host that $name", (stage) => {
  it("is given up on, once", async () => {
    const host = await started(stage);
    const pool = createPool(means());
    opened.push(pool);
    expect(await ending(pool.connect(await targetOf(host)))).toEqual({ fault: "unreachable" });
    expect(host.connections()).toBe(1);
  });

  it("is dropped at once on abort", async () => {
    const host = await started(stage);
    const stop = new AbortController();
    const connecting = connect(await targetOf(host), { ...means(stop.signal), timeout: 60_000 });
    setTimeout(() => stop.abort(new Error("stop")), 200);
    // One that sends a banner without end is found out before that.
    expect(await ending(connecting)).toEqual({ fault: expect.stringMatching(stage.floods ? /./ : /^stop$/) });
  });
});

const connecting = stages.filter(({ connects }) => connects);
describe.each(connecting)("a host that $name", (stage) => {
  it.each(Object.entries(uses))("ends %s with a fault", async (_, use) => {
    const connection = await connect(await targetOf(await started(stage)), means());
    opened.push(connection);
    const { fault } = (await ending(use(connection))) ?? {};
    expect(["remote-timeout", "remote-failed", "sudo-refused"]).toContain(fault);
  });

  it.each(Object.entries(uses))("lets %s be stopped", async (_, use) => {
    const stop = new AbortController();
    const connection = await connect(await targetOf(await started(stage)), means());
    opened.push(connection);
    const work = ending(use(connection, stop.signal));
    setTimeout(() => stop.abort(new Error("stop")), 100);
    expect(await work).toBeDefined();
  });
});

it("more commands than a connection has channels for are bounded too, when none is answered", async () => {
  const stage = stages.find(({ name }) => name === "never answers an exec request");
  if (!stage) throw new Error("no such stage");
  const connection = await connect(await targetOf(await started(stage)), means());
  opened.push(connection);
  const all = Array.from({ length: 20 }, () => ending(run(connection, "true", { timeout: 2000 })));
  expect(await Promise.all(all)).toEqual(all.map(() => ({ fault: "remote-timeout" })));
});

describe("a forward", () => {
  const open = async (forward: Parameters<typeof startForwardingHost>[0]) => {
    const host = await startForwardingHost(forward);
    opened.push(host);
    const connection = await connect(await targetOf(host), means());
    opened.push(connection);
    return connection;
  };
  const get = (connection: Connection, signal = new AbortController().signal) =>
    ask({ connection, port: 8642, open: () => connection.forward(8642) }, { method: "GET", path: "/", signal });
  const answering = (text: string, again = "") =>
    open((accept) => {
      const stream = accept();
      stream.on("error", () => {});
      stream.once("data", () => {
        stream.write(text);
        if (again !== "") setInterval(() => stream.writable && stream.write(again), 5).unref();
      });
    });

  it("that is never answered is given up on", async () => {
    const connection = await open(() => {});
    expect(await ending(connection.forward(8642))).toEqual({ fault: "remote-timeout" });
    expect(await ending(get(connection))).toEqual({ fault: "remote-timeout" });
  });

  it("that is never answered ends on abort", async () => {
    const connection = await open(() => {});
    expect(await ending(connection.forward(8642, undefined, AbortSignal.timeout(100)))).toBeDefined();
  });

  it.each([
    [
      "switches to another protocol",
      "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n",
      "",
    ],
    ["says 101 and not to what", "HTTP/1.1 101 Switching Protocols\r\n\r\n", ""],
    ["sends answers in advance without end", "HTTP/1.1 102 Processing\r\n\r\n", "HTTP/1.1 102 Processing\r\n\r\n"],
    ["sends headers without end", "HTTP/1.1 200 OK\r\n", `X-More: ${"x".repeat(900)}\r\n`],
  ])("to a server that %s is a fault", async (_, text, again) => {
    expect(await ending(get(await answering(text, again)))).toEqual({ fault: "remote-failed" });
  });
});
