import { execFileSync } from "node:child_process";
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { isFault } from "../../src/errors.js";
import { hostNameFrom } from "../../src/names.js";
import { Secret } from "../../src/secret.js";
import { readAudit, verifyAudit } from "../../src/state/audit/read.js";
import { beginAudit } from "../../src/state/audit/write.js";
import { type Host, hostStore } from "../../src/state/hosts.js";
import { withLock } from "../../src/state/lock.js";
import { openSecrets } from "../../src/state/secrets.js";
import { faultOf } from "../unit/state/scratch.js";
import { bundleChild } from "./child.js";

const asRoot = process.getuid?.() === 0;

let child: Awaited<ReturnType<typeof bundleChild>>;
beforeAll(async () => {
  child = await bundleChild("test/faults/state-child.ts");
});
afterAll(() => child.remove());

const made: string[] = [];
const mounted: string[] = [];
function scratch(): string {
  const directory = mkdtempSync(join(tmpdir(), "clm-state-"));
  made.push(directory);
  return directory;
}
/** A separate file system, which can be full or read-only. */
function fileSystem(size: string): string {
  const directory = scratch();
  execFileSync("mount", ["-t", "tmpfs", "-o", `size=${size},mode=0700`, "clm-test", directory]);
  mounted.push(directory);
  return directory;
}
afterEach(async () => {
  await child.killAll();
  for (const directory of mounted.splice(0)) execFileSync("umount", [directory]);
  for (const directory of made.splice(0)) rmSync(directory, { recursive: true, force: true });
});

const host = (name: string): Host => ({
  name: hostNameFrom(name),
  address: "192.0.2.1",
  labels: {},
  added_at: "",
  sudo: "none",
  agents: {},
});
const add = (dir: string, name: string) =>
  hostStore(dir, { wait: 10_000, expiry: 60_000 }).update((file) => ({ ...file, hosts: [...file.hosts, host(name)] }));
const labelsIn = (dir: string) => hostStore(dir).read().hosts[0]?.labels ?? {};

describe("two at once", () => {
  test("2 processes × 500 updates lose none", async () => {
    const dir = scratch();
    const children = ["a", "b"].map((key) => child.start(["count", dir, key, "500"]));
    expect(await Promise.all(children.map(({ ended }) => ended))).toEqual([0, 0]);
    expect(children.map(({ said }) => said)).toEqual([["done"], ["done"]]);
    expect(labelsIn(dir)).toEqual({ a: "500", b: "500", total: "1000" });
  });

  test("never do two of six processes hold one lock", async () => {
    const dir = scratch();
    const children = Array.from({ length: 6 }, () => child.start(["enter", dir, "100"]));
    await Promise.all(children.map(({ ended }) => ended));
    expect(children.map(({ said }) => said)).toEqual(Array(6).fill(["done"]));
  });
});

describe("kill -9", () => {
  /** Starts a writer, kills it at a random moment after it got the lock, and checks what is left. */
  async function killOne(dir: string): Promise<void> {
    const writer = child.start(["churn", dir]);
    await writer.says("hosts ");
    await sleep(Math.random() * 20);
    writer.process.kill("SIGKILL");
    expect(await writer.ended).toBe("SIGKILL");
    const safe = Number(writer.said.at(-1)?.split(" ")[1]);
    // At most one more than it had time to report.
    expect([safe, safe + 1]).toContain(Number(labelsIn(dir).churn));
    openSecrets(dir).all();
    expect(verifyAudit(dir)).toMatchObject({ ok: true });
  }

  test("200 times at random moments leaves every file intact and the lock free", async () => {
    const lanes = Array.from({ length: 8 }, scratch);
    let failed = false;
    const lane = async (dir: string) => {
      for (let n = 0; n < 25 && !failed; n++) await killOne(dir);
    };
    const outcomes = await Promise.allSettled(
      lanes.map((dir) =>
        lane(dir).catch((error) => {
          failed = true;
          throw error;
        }),
      ),
    );
    expect(outcomes.filter(({ status }) => status === "rejected")).toEqual([]);
    for (const dir of lanes) {
      await add(dir, "after");
      await openSecrets(dir).set({ provider: "p" }, "KEY", new Secret("after"), "");
      await beginAudit(dir, { verb: "after", target: "", argv: [] });
      const everything = readdirSync(dir, { recursive: true }).map(String);
      expect(everything.filter((name) => name.includes("~"))).toEqual([]);
      expect(readdirSync(join(dir, "locks/hosts"))).toHaveLength(1);
      expect(readdirSync(join(dir, "backups")).length).toBeLessThanOrEqual(10);
      expect(readAudit(dir).at(-1)?.verb).toBe("after");
    }
  });

  test("an abandoned lock is taken without waiting for its expiry", async () => {
    const dir = scratch();
    const holder = child.start(["hold", dir]);
    await holder.says("held");
    const fault = await faultOf(() => withLock(dir, "hosts", { wait: 50 }, () => {}));
    expect(fault.fault).toBe("locked");
    expect(fault.why.join()).toContain(`pid ${holder.pid}`);
    expect(fault.why.join()).toContain("child hold");
    holder.process.kill("SIGKILL");
    await holder.ended;
    expect(await withLock(dir, "hosts", { wait: 0, expiry: 600_000 }, () => "mine")).toBe("mine");
  });
});

test("a writer that was suspended past its expiry loses the lock, and writes nothing when it resumes", async () => {
  const dir = scratch();
  await add(dir, "first");
  const stopped = child.start(["stop", dir]);
  await stopped.says("inside");
  await hostStore(dir, { expiry: 300, wait: 10_000 }).update((file) => ({ ...file, hosts: [host("second")] }));
  const before = readFileSync(join(dir, "hosts.json"), "utf8");
  stopped.process.kill("SIGCONT");
  expect(await stopped.says("fault")).toContain('"locked"');
  expect(readFileSync(join(dir, "hosts.json"), "utf8")).toBe(before);
  await stopped.ended;
  await add(dir, "third");
});

describe("a directory that cannot be written", () => {
  async function everyWriteSays(dir: string, errno: RegExp): Promise<void> {
    const writes = [
      () => add(dir, "x"),
      () => openSecrets(dir).set({ provider: "p" }, "KEY", new Secret("x"), ""),
      () => beginAudit(dir, { verb: "x", target: "x", argv: [] }),
    ];
    for (const write of writes) {
      const fault = await faultOf(write);
      expect(fault.fault).toBe("state-readonly");
      expect(fault.message).toContain(dir);
      expect(fault.why.join()).toMatch(errno);
      expect(fault.next).toHaveLength(1);
    }
  }

  test.runIf(asRoot)("read-only: everything can be read, nothing is started, and the fault says why", async () => {
    const dir = fileSystem("1m");
    await add(dir, "first");
    execFileSync("mount", ["-o", "remount,ro", dir]);
    expect(hostStore(dir).read().hosts).toHaveLength(1);
    expect(verifyAudit(dir).ok).toBe(true);
    await everyWriteSays(dir, /read-only \(EROFS\)/);
    await everyWriteSays(join(dir, "missing"), /read-only \(EROFS\)/);
  });

  test.runIf(asRoot)("of another user", async () => {
    const dir = scratch();
    chmodSync(dir, 0o755);
    const other = child.start(["count", dir, "a", "1"], { uid: 65534, gid: 65534 });
    expect(await other.says("fault")).toMatch(/"state-readonly".*EACCES/);
    await other.ended;
  });

  test.runIf(!asRoot)("without the right to write", async () => {
    const dir = scratch();
    await add(dir, "first");
    chmodSync(dir, 0o500);
    await everyWriteSays(dir, /EACCES/);
    expect(hostStore(dir).read().hosts).toHaveLength(1);
    chmodSync(dir, 0o700);
  });
});

describe.runIf(asRoot)("a full disk", () => {
  /** Fills the disk until `pages` are free. */
  function fill(dir: string, pages: number): void {
    const page = Buffer.alloc(4096);
    mkdirSync(join(dir, "junk"));
    let written = 0;
    try {
      for (;;) writeFileSync(join(dir, "junk", `${written++}`), page);
    } catch (error) {
      expect(error).toMatchObject({ code: "ENOSPC" });
    }
    for (let n = 0; n < pages; n++) rmSync(join(dir, "junk", `${n}`));
  }
  const clear = (dir: string) => rmSync(join(dir, "junk"), { recursive: true });

  test("keeps the old content wherever it becomes full, and works again with free space", async () => {
    const dir = fileSystem("400k");
    for (let n = 0; n < 20; n++) await add(dir, `host-${n}`);
    const begun = await beginAudit(dir, { verb: "x", target: "x", argv: [] });
    expect(begun.verb).toBe("x");
    const outcomes = new Set<string>();
    for (let pages = 0; pages < 12; pages++) {
      fill(dir, pages);
      const before = hostStore(dir).read().hosts.length;
      const result = await add(dir, `more-${pages}`).catch((error) => error);
      if (isFault(result)) {
        expect(result.fault).toBe("state-readonly");
        expect(result.why.join()).toContain("the disk is full (ENOSPC)");
        expect(hostStore(dir).read().hosts).toHaveLength(before);
        outcomes.add("full");
      } else {
        expect(hostStore(dir).read().hosts).toHaveLength(before + 1);
        outcomes.add("written");
      }
      const audited = await beginAudit(dir, { verb: "y", target: "y", argv: ["z".repeat(6000)] }).catch(
        (error) => error,
      );
      if (isFault(audited)) expect(audited.fault).toBe("state-readonly");
      expect(verifyAudit(dir).ok).toBe(true);
      clear(dir);
    }
    expect([...outcomes].sort()).toEqual(["full", "written"]);
    await add(dir, "last");
    expect(hostStore(dir).read().hosts.at(-1)?.name).toBe("last");
    expect(readdirSync(dir).filter((name) => name.includes("~"))).toEqual([]);
  });
});
