import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { clm, inHost } from "../lab/clm.js";
import { labFixture } from "../lab/fixture.js";
import { impostorOn } from "./impostor.js";

const host = "trial-2";
let pinned: string;

const show = async () => JSON.parse((await clm(["host", "show", host, "-o", "json"], { home })).stdout);
// systemd starts a service at most five times in ten seconds, unless its counter is reset.
const realFingerprint = async () =>
  (await inHost(host, "ssh-keygen -lf /etc/ssh/ssh_host_ed25519_key.pub")).split(" ")[1] ?? "";

const { home } = labFixture();
beforeAll(async () => {
  pinned = (await show()).fingerprints[0];
});

describe("an impostor on the host's own address", () => {
  it("gets no authentication packet, and both fingerprints are named", async () => {
    const impostor = await impostorOn(host);
    try {
      for (const args of [
        ["host", "exec", host, "--", "true"],
        ["host", "exec", host, "--sudo", "--", "true"],
      ]) {
        const { code, stderr } = await clm(args, { home });
        expect(code).toBe(12);
        expect(stderr).toContain("CLM-4002");
        expect(stderr).toContain(pinned);
        expect(stderr).toContain(impostor.fingerprint);
        expect(stderr).toContain(`clm host trust ${host}`);
      }
    } finally {
      const seen = await impostor.close();
      expect(seen.connections).toBeGreaterThanOrEqual(2);
      expect(seen.authentications).toBe(0);
    }
  });

  it("is not trusted through flags either", async () => {
    const impostor = await impostorOn(host);
    try {
      const { address, user, identity } = await show();
      const again = ["host", "add", "again", "--address", address, "--user", user, "--identity", identity];
      const wrong = await clm([...again, "--fingerprint", pinned], { home });
      expect(wrong.code).toBe(12);
      expect(wrong.stderr).toContain(impostor.fingerprint);
      const unanswered = await clm(["host", "trust", host], { home });
      expect(unanswered.code).toBe(12);
      expect((await show()).fingerprints).toEqual([pinned]);
    } finally {
      expect((await impostor.close()).authentications).toBe(0);
    }
  });
});

describe("a host with a new key", () => {
  it("is refused until its key is pinned again", async () => {
    await inHost(host, "cp -p /etc/ssh/ssh_host_ed25519_key* /root/ && rm /etc/ssh/ssh_host_ed25519_key*");
    await inHost(
      host,
      "ssh-keygen -q -t ed25519 -N '' -f /etc/ssh/ssh_host_ed25519_key && systemctl reset-failed ssh; systemctl restart ssh",
    );
    try {
      const fresh = await realFingerprint();
      expect((await clm(["host", "check", host], { home })).stdout).toMatch(/ssh\.key +fail/);
      const users = await readFile(join(home, "known_hosts"), "utf8");
      expect((await clm(["host", "trust", host, "--fingerprint", pinned], { home })).code).toBe(12);
      expect(await readFile(join(home, "known_hosts"), "utf8")).toBe(users);
      expect((await clm(["host", "trust", host, "--fingerprint", fresh], { home })).code).toBe(0);
      expect((await clm(["host", "exec", host, "--", "true"], { home })).code).toBe(0);
      expect((await show()).fingerprints).toEqual([fresh]);
    } finally {
      await inHost(
        host,
        "mv /root/ssh_host_ed25519_key* /etc/ssh/ && systemctl reset-failed ssh; systemctl restart ssh",
      );
    }
  });
});

describe("an unknown host without a terminal", () => {
  it("is refused, and added only with a fingerprint or --accept-new", async () => {
    const { address, user, identity } = await show();
    const add = ["host", "add", "newcomer", "--address", address, "--user", user, "--identity", identity];
    const refused = await clm(add, { home });
    expect(refused.code).toBe(12);
    expect(refused.stderr).toMatch(/CLM-4001/);
    expect(refused.stderr).toContain(await realFingerprint());
    expect((await clm([...add, "--accept-new"], { home })).code).toBe(0);
    expect((await clm(["host", "exec", "newcomer", "--", "true"], { home })).code).toBe(0);
  });
});

describe("a fingerprint given in advance", () => {
  it("may be that of any of the host's keys, which is then pinned", async () => {
    const made = "test -f /etc/ssh/ssh_host_rsa_key || ssh-keygen -q -t rsa -b 2048 -N '' -f /etc/ssh/ssh_host_rsa_key";
    await inHost(host, `${made}; systemctl reset-failed ssh; systemctl restart ssh`);
    try {
      const rsa = (await inHost(host, "ssh-keygen -lf /etc/ssh/ssh_host_rsa_key.pub")).split(" ")[1] ?? "";
      const { address, user, identity } = await show();
      const add = ["host", "add", "by-rsa", "--address", address, "--user", user, "--identity", identity];
      expect((await clm([...add, "--fingerprint", rsa], { home })).code).toBe(0);
      expect((await clm(["host", "exec", "by-rsa", "--", "true"], { home })).code).toBe(0);
      expect(JSON.parse((await clm(["host", "show", "by-rsa", "-o", "json"], { home })).stdout).fingerprints).toEqual([
        rsa,
      ]);
    } finally {
      await inHost(host, "rm -f /etc/ssh/ssh_host_rsa_key*; systemctl reset-failed ssh; systemctl restart ssh");
    }
  });
});
