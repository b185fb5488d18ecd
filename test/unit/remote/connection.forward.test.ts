import { EventEmitter } from "node:events";
import { PassThrough } from "node:stream";
import type { NodeSSH } from "node-ssh";
import { expect, it } from "vitest";
import { connection } from "../../../src/remote/connection.js";

const refusing = (reason: number, jump = false) => {
  const error = Object.assign(new Error("(SSH) Channel open failure: open failed"), { reason });
  const ssh = Object.assign(new EventEmitter(), { _sock: new PassThrough() });
  const client = { connection: ssh, forwardOut: () => Promise.reject(error) } as unknown as NodeSSH;
  return connection(client, {
    target: { name: "wolf", address: "192.0.2.1", jump },
    user: "me",
    hostKey: { type: "", blob: Buffer.alloc(0) },
    passwords: {} as never,
  });
};

it("an sshd that forbids forwarding differs from a port without a listener", async () => {
  const prohibited = await refusing(1)
    .forward(8642)
    .catch((fault) => fault);
  expect(prohibited).toMatchObject({
    fault: "unsupported",
    message: expect.stringContaining("wolf"),
    why: expect.arrayContaining([expect.stringContaining("AllowTcpForwarding")]),
    next: [expect.stringMatching(/^clm host exec wolf --sudo -- /)],
  });
  await expect(refusing(2).forward(8642)).rejects.toMatchObject({ fault: "remote-failed" });
});

it("no command is suggested for a jump host", async () => {
  await expect(refusing(1, true).forward(22, "192.0.2.2")).rejects.toMatchObject({ fault: "unsupported", next: [] });
});
