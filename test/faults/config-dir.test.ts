import { execFileSync } from "node:child_process";
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { clm } from "../lab/clm.js";
import { labFixture } from "../lab/fixture.js";

const { home } = labFixture({ perTest: true });

const label = ["host", "update", "trial-1", "--offline", "--label", "a=b"];
const path = (name: string) => join(home, name);

describe("a broken config directory", () => {
  it("read-only: nothing is started", async () => {
    execFileSync("mount", ["--bind", home, home]);
    execFileSync("mount", ["-o", "remount,ro,bind", home]);
    try {
      const { code, stderr } = await clm(label, { home });
      expect([code, stderr]).toEqual([20, expect.stringMatching(/CLM-5001[\s\S]*next: /)]);
      expect((await clm(["host", "list"], { home })).code).toBe(0);
    } finally {
      execFileSync("umount", [home]);
    }
  });

  it("full: nothing is lost", async () => {
    const small = mkdtempSync(join(tmpdir(), "clm-small-"));
    execFileSync("mount", ["-t", "tmpfs", "-o", "size=64k,mode=0700", "tmpfs", small]);
    try {
      execFileSync("cp", ["-a", path("hosts.json"), path("known_hosts"), path("keys"), small]);
      try {
        writeFileSync(join(small, "ballast"), Buffer.alloc(64 * 1024));
      } catch {
        // Completely full.
      }
      const before = readFileSync(join(small, "hosts.json"), "utf8");
      const { code, stderr } = await clm(label, { home: small });
      expect([code, stderr]).toEqual([20, expect.stringContaining("CLM-5001")]);
      expect(readFileSync(join(small, "hosts.json"), "utf8")).toBe(before);
    } finally {
      execFileSync("umount", [small]);
      rmSync(small, { recursive: true });
    }
  });

  it("corrupt: the last good copy is named, and copying it repairs the state", async () => {
    expect((await clm(label, { home })).code).toBe(0);
    const torn = readFileSync(path("hosts.json"), "utf8").slice(0, 100);
    writeFileSync(path("hosts.json"), torn);
    const { code, stderr } = await clm(label, { home });
    expect([code, stderr]).toEqual([21, expect.stringContaining("CLM-5002")]);
    expect(readFileSync(path("hosts.json"), "utf8")).toBe(torn);
    const repair = /next: (cp .*)/.exec(stderr)?.[1] ?? "false";
    execFileSync("sh", ["-c", repair]);
    expect((await clm(["host", "list", "-o", "name"], { home })).stdout).toContain("trial-1");
  });

  it("from a newer clm: it is left alone", async () => {
    const newer = readFileSync(path("hosts.json"), "utf8").replace('"version": 1', '"version": 99');
    writeFileSync(path("hosts.json"), newer);
    for (const args of [label, ["host", "list"]]) {
      const { code, stderr } = await clm(args, { home });
      expect([code, stderr]).toEqual([22, expect.stringContaining("CLM-5003")]);
    }
    expect(readFileSync(path("hosts.json"), "utf8")).toBe(newer);
  });

  it("with secrets that others can read: they are refused, and the fix is named", async () => {
    writeFileSync(path("secrets.json"), '{"version":1}');
    chmodSync(path("secrets.json"), 0o644);
    const { code, stderr } = await clm(["host", "rename", "trial-1", "other"], { home });
    expect([code, stderr]).toEqual([23, expect.stringMatching(/CLM-5004[\s\S]*next: chmod 600/)]);
    execFileSync("sh", ["-c", /next: (chmod.*)/.exec(stderr)?.[1] ?? "false"]);
    expect((await clm(["host", "rename", "trial-1", "other"], { home })).code).toBe(0);
  });

  it("shared by many clm at once: every change is there afterwards", async () => {
    const names = Array.from({ length: 12 }, (_, at) => `turn-${at}`);
    const results = await Promise.all(
      names.map((name) => clm(["host", "update", "trial-1", "--offline", "--label", `${name}=x`], { home })),
    );
    expect(results.map(({ code }) => code)).toEqual(names.map(() => 0));
    const { hosts } = JSON.parse(readFileSync(path("hosts.json"), "utf8"));
    const host = hosts.find(({ name }: { name: string }) => name === "trial-1");
    expect(Object.keys(host.labels).sort()).toEqual(["lab", ...names].sort());
    expect((await clm(["audit", "--verify"], { home })).code).toBe(0);
  });
});
