import { once } from "node:events";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import type { Connection } from "../../src/remote/connection.js";
import { createPool } from "../../src/remote/pool.js";
import { run } from "../../src/remote/run.js";
import { findHost, hostStore } from "../../src/state/hosts.js";
import { inHost } from "./clm.js";
import { connectTo, meansFor } from "./connect.js";

const shared = inject("fleetHome");
let connection: Connection;

beforeAll(async () => {
  connection = await connectTo(shared, "trial-1");
});
afterAll(() => connection.close());

describe("one connection", () => {
  it("queues commands beyond the number of channels that sshd allows", async () => {
    const answers = await Promise.all(Array.from({ length: 40 }, (_, at) => run(connection, `sleep 0.1; echo ${at}`)));
    expect(answers.map(({ stdout }) => stdout.trim())).toEqual(answers.map((_, at) => String(at)));
  });

  it("passes stdin, stdout, stderr and the exit code through, as another user too", async () => {
    for (const [shell, user] of [
      [connection, "clm"],
      [connection.as("root"), "root"],
      [connection.as("root").as("nobody"), "nobody"],
    ] as const) {
      const bytes = Buffer.from(Array.from({ length: 300_000 }, (_, at) => at % 251));
      const digest = await run(shell, "sha256sum; id -un >&2; exit 3", { stdin: bytes });
      const { createHash } = await import("node:crypto");
      expect(digest).toMatchObject({ code: 3, stderr: `${user}\n` });
      expect(digest.stdout).toContain(createHash("sha256").update(bytes).digest("hex"));
    }
  });

  it("opens a stream to a port on the host's loopback", async () => {
    const stream = await connection.forward(22);
    const [banner] = await once(stream, "data");
    expect(String(banner)).toMatch(/^SSH-2\.0-OpenSSH/);
    stream.destroy();
    await expect(connection.forward(1)).rejects.toMatchObject({ fault: "remote-failed" });
  });

  it("stops a command here and on the host", async () => {
    const stop = new AbortController();
    const running = run(connection, "exec sleep 4242", { signal: stop.signal });
    setTimeout(() => stop.abort(new Error("enough")), 500);
    await expect(running).rejects.toThrow("enough");
    expect(await inHost("trial-1", "sleep 0.5; pgrep -f 'sleep 424[2]' || echo gone")).toBe("gone\n");
  });
});

describe("a pool", () => {
  it("retries when an sshd drops some of many connections", async () => {
    const host = findHost(hostStore(shared).read().hosts, "trial-2");
    const pools = Array.from({ length: 30 }, () => createPool(meansFor(shared)));
    const connections = await Promise.all(pools.map((pool) => pool.connect(host)));
    expect(connections.every(({ open }) => open)).toBe(true);
    for (const pool of pools) pool.close();
  });

  it("makes one connection per host, and a new one after a loss", async () => {
    const host = findHost(hostStore(shared).read().hosts, "trial-2");
    const pool = createPool(meansFor(shared));
    const first = await pool.connect(host);
    expect(await pool.connect(host)).toBe(first);
    first.close();
    await first.closed;
    const second = await pool.connect(host);
    expect(second).not.toBe(first);
    expect((await run(second, "echo again")).stdout).toBe("again\n");
    pool.close();
  });
});
