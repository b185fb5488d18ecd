import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createGate, type Gate } from "../../src/flows/gate.js";
import type { Connection } from "../../src/remote/connection.js";
import type { Report } from "../../src/remote/operations/converge.js";
import { dir, file, type Operation, run } from "../../src/remote/operations/operation.js";
import { Secret } from "../../src/secret.js";
import type { Ui } from "../../src/ui/ui.js";
import { clm, inHost, whenRunning } from "../lab/clm.js";
import { connectTo } from "../lab/connect.js";
import { labFixture } from "../lab/fixture.js";

const host = "trial-1";
const action = { verb: "test", target: host, summary: "try something" };
const silent = { note() {}, warn() {}, redact: (text: string) => text } as unknown as Ui;

let connection: Connection;

const { home } = labFixture({ perTest: true });
beforeEach(async () => {
  connection = await connectTo(home, host);
});
afterEach(async () => {
  connection.close();
  await inHost(host, "umount /srv/small 2>/dev/null; rm -rf /srv/small /srv/kept");
});

const gate = (more: { dryRun?: boolean; signal?: AbortSignal } = {}): Gate =>
  createGate({
    ui: silent,
    configDir: home,
    env: process.env,
    now: () => new Date(),
    yes: true,
    argv: ["test"],
    stdin: () => process.stdin,
    dryRun: false,
    signal: new AbortController().signal,
    ...more,
  });
async function apply(operations: Operation[], more = {}): Promise<Report> {
  const { dryRun, compare, pass } = gate(more);
  const root = connection.as("root");
  if (dryRun) return compare(root, operations);
  return (await pass(action, (executor) => executor.converge(root, operations))) as Report;
}
const text = (path: string, content: string | Secret) => file(path, { owner: "root", mode: 0o600, content });

describe("the change gate", () => {
  it("a full disk: its own fault, the old file intact, no leftovers", async () => {
    await inHost(
      host,
      "mkdir /srv/small && mount -t tmpfs -o size=256k tmpfs /srv/small && echo old > /srv/small/file",
    );
    const operations = [
      text("/srv/small/first", "small\n"),
      text("/srv/small/file", "x".repeat(1 << 20)),
      dir("/srv/kept", { owner: "root", mode: 0o700 }),
    ];
    await expect(apply(operations)).rejects.toMatchObject({
      fault: "host-full",
      exit: 15,
      data: {
        results: [
          { id: "file /srv/small/first", status: "changed" },
          { id: "file /srv/small/file", status: "failed" },
          { status: "skipped" },
        ],
      },
    });
    expect(await inHost(host, "cat /srv/small/file; ls -A /srv/small; ls -d /srv/kept 2>&1 || true")).toMatch(
      /^old\nfile\nfirst\nls: cannot access/,
    );
    const { stdout } = await clm(["audit", "--last", "1", "-o", "json"], { home });
    expect(JSON.parse(stdout)).toMatchObject([{ verb: "test", result: "failed", fault: "CLM-2006" }]);
  });

  it("a dry run writes nothing, neither locally nor on the host", async () => {
    const before = readFileSync(join(home, "audit.jsonl"), "utf8");
    const report = await apply([dir("/srv/kept", { owner: "root", mode: 0o700 })], { dryRun: true });
    expect(report).toMatchObject({ changed: 0, pending: 1 });
    expect(await inHost(host, "ls /srv")).toBe("");
    expect(readFileSync(join(home, "audit.jsonl"), "utf8")).toBe(before);
  });

  it("a connection lost in the middle: reported, with the completed operations", async () => {
    const cut = run({ script: "pkill -KILL -f 'sshd: [c]lm'; sleep 5" });
    const lost = apply([dir("/srv/kept", { owner: "root", mode: 0o700 }), cut]);
    await expect(lost).rejects.toMatchObject({ fault: "connection-lost", exit: 14 });
    const { stdout } = await clm(["audit", "--last", "1", "-o", "json"], { home });
    expect(JSON.parse(stdout)).toMatchObject([{ verb: "test", result: "failed" }]);
    connection = await connectTo(home, host);
    expect((await apply([dir("/srv/kept", { owner: "root", mode: 0o700 })])).changed).toBe(0);
  });

  it("Ctrl-C in the middle: the current operation is completed, the next is not started", async () => {
    const stop = new AbortController();
    const slow = run({ script: "sleep 2.25; touch /srv/kept", creates: "/srv/kept" });
    const interrupted = apply([slow, dir("/srv/small", { owner: "root", mode: 0o700 })], { signal: stop.signal });
    void whenRunning(host, "sleep 2.25", () => stop.abort());
    await expect(interrupted).rejects.toMatchObject({ fault: "interrupted" });
    expect(await inHost(host, "sleep 2.5; ls /srv")).toBe("kept\n");
  });

  it("a secret is only in its file", async () => {
    const planted = "planted-7f3a9c";
    const watching = inHost(
      host,
      "for n in $(seq 200); do cat /proc/*/cmdline 2>/dev/null | tr '\\0' ' '; sleep 0.01; done",
    );
    await apply([text("/srv/kept", new Secret(`KEY=${planted}\n`)), run({ script: "sleep 1" })]);
    const seen = await watching;
    expect(seen).toContain("sleep");
    const forms = [planted, Buffer.from(planted).toString("base64").slice(0, -4)];
    const everything = [seen, ...["audit.jsonl", "hosts.json"].map((name) => readFileSync(join(home, name), "utf8"))];
    const left = await inHost(
      host,
      `grep -rlF '${planted}' /srv /tmp /run /var/tmp /var/log /root /home 2>/dev/null; journalctl --no-pager | grep -cF '${planted}' || true`,
    );
    for (const form of forms) for (const place of everything) expect(place).not.toContain(form);
    expect(left).toBe("/srv/kept\n0\n");
  });
});
