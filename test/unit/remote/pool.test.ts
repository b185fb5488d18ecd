import { once } from "node:events";
import { mkdtempSync } from "node:fs";
import { type AddressInfo, createServer, type Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, it } from "vitest";
import type { ConnectOptions } from "../../../src/remote/connect.js";
import { trustIn } from "../../../src/remote/host-keys/trust.js";
import { createPool } from "../../../src/remote/pool.js";

const open: Server[] = [];
afterEach(() => {
  for (const server of open.splice(0)) server.close();
});

/** Accepts and counts connections, and sends nothing. */
async function silent(): Promise<{ port: number; taken: () => number; next: Promise<unknown> }> {
  let taken = 0;
  const server = createServer((socket) => {
    taken++;
    socket.on("error", () => {});
  });
  open.push(server);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return { port: (server.address() as AddressInfo).port, taken: () => taken, next: once(server, "connection") };
}

it("a host with a new address gets a new connection, and an unchanged one shares its connection", async () => {
  const stop = new AbortController();
  const means: ConnectOptions = {
    trust: trustIn(mkdtempSync(join(tmpdir(), "clm-pool-"))),
    credentials: {} as ConnectOptions["credentials"],
    env: process.env,
    signal: stop.signal,
  };
  const pool = createPool(means);
  const [before, after] = [await silent(), await silent()];
  const target = (port: number) => ({ name: "wolf-i", address: "127.0.0.1", port });
  const first = pool.connect(target(before.port));
  expect(pool.connect({ ...target(before.port) })).toBe(first);
  await before.next;
  const second = pool.connect(target(after.port));
  expect(second).not.toBe(first);
  await after.next;
  expect(pool.connect(target(after.port))).toBe(second);
  expect([before.taken(), after.taken()]).toEqual([1, 1]);
  stop.abort(new Error("over"));
  expect((await Promise.allSettled([first, second])).map(({ status }) => status)).toEqual(["rejected", "rejected"]);
});
