import { spawnSync } from "node:child_process";
import { chmodSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { arch, hostname, release, tmpdir, userInfo } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Facts, parseFacts, readFacts } from "../../../src/remote/facts.js";
import { localShells } from "./operations/local-shell.js";
import { sampleFacts as facts } from "./sample-facts.js";

const whole = `user=clm
uid=1000
hostname=wolf-i
kernel=6.1.0-18-amd64
arch=x86_64
os=debian
os_version=12
os_name=Debian GNU/Linux 12 (bookworm)
cpus=8
memory_kb=16384000
memory_free_kb=8192000
disk_kb=102400000
disk_free_kb=51200512
systemd=252
system_state=running
clock=1700000000
sudo=passwordless
gpu=0x10de
end=facts
`;
const clock = 1_700_000_000;

describe("a host's answer", () => {
  it("is read whole", () => expect(parseFacts(whole, clock)).toEqual(facts));

  it.each([
    ["lines that end as on Windows", whole.replaceAll("\n", "\r\n")],
    ["a banner before", `Welcome to wolf-i!\n\n  * load = low\n=\n=x\nLast login: today\n${whole}`],
    ["talk behind", `${whole}bye\n`],
    ["no newline at the end", whole.trimEnd()],
    ["another order", whole.split("\n").reverse().join("\n")],
    ["blanks around a value", whole.replace("os=debian", "os=  Debian  ")],
  ])("is read the same with %s", (_, text) => expect(parseFacts(text, clock)).toEqual(facts));

  it("may be nothing at all", () => {
    expect(parseFacts("", 0)).toEqual({
      user: "",
      hostname: "",
      os: "",
      os_version: "",
      os_name: "",
      arch: "",
      kernel: "",
      system_state: "",
      cpus: 0,
      memory_mb: 0,
      memory_free_mb: 0,
      disk_total_mb: 0,
      disk_free_mb: 0,
      systemd: 0,
      sudo: "none",
      gpu: [],
      clock_ahead: 0,
    });
  });

  it.each<[string, string, Partial<Facts>]>([
    ["memory_kb=16384000", "memory_kb=", { memory_mb: 0 }],
    ["memory_kb=16384000", "memory_kb=lots", { memory_mb: 0 }],
    ["memory_kb=16384000", "memory_kb=1535", { memory_mb: 1 }],
    ["memory_kb=16384000", "memory_kb=1536", { memory_mb: 2 }],
    ["cpus=8", "cpus=", { cpus: 0 }],
    ["cpus=8", "cpus=8 of 16", { cpus: 8 }],
    ["cpus=8\n", "", { cpus: 0 }],
    ["systemd=252", "systemd=252.39-1~deb12u1", { systemd: 252 }],
    ["systemd=252", "systemd=", { systemd: 0 }],
    ["os=debian", "os=", { os: "" }],
    ["os_name=Debian GNU/Linux 12 (bookworm)", "os_name=a=b", { os_name: "a=b" }],
    ["sudo=passwordless", "sudo=root", { sudo: "root" }],
    ["sudo=passwordless", "sudo=password", { sudo: "password" }],
    ["sudo=passwordless", "sudo=none", { sudo: "none" }],
    ["sudo=passwordless", "sudo=constructor", { sudo: "none" }],
    ["sudo=passwordless\n", "", { sudo: "none" }],
    ["gpu=0x10de\n", "", { gpu: [] }],
    ["gpu=0x10de", "gpu=0x1002\ngpu=0x10de\ngpu=0x8086", { gpu: ["amd", "nvidia", "intel"] }],
    ["gpu=0x10de", "gpu=0x10de\ngpu=0x10de", { gpu: ["nvidia", "nvidia"] }],
    ["gpu=0x10de", "gpu=0x1a03\ngpu=", { gpu: ["other", "other"] }],
    ["gpu=0x10de", "gpu=constructor", { gpu: ["other"] }],
    ["clock=1700000000", "clock=1700000090", { clock_ahead: 90 }],
    ["clock=1700000000", "clock=1699996400", { clock_ahead: -3600 }],
  ])("%j as %j", (before, after, expected) => {
    expect(whole).toContain(before);
    expect(parseFacts(whole.replace(before, after), clock)).toEqual({ ...facts, ...expected });
  });

  it("a clock is compared with the middle of the time the question took", () => {
    expect(parseFacts(whole, clock + 0.4).clock_ahead).toBeCloseTo(0);
    expect(parseFacts(whole, clock - 1.6).clock_ahead).toBe(2);
  });
});

describe("the script, asked of this machine", () => {
  const { shells, close } = localShells();
  afterAll(close);

  it.each(shells)("is correct under $name", async (shell) => {
    const found = await readFacts(shell);
    const kb = (key: string) =>
      Number(new RegExp(`^${key}: +(\\d+)`, "m").exec(readFileSync("/proc/meminfo", "utf8"))?.[1]);
    const release_ = readFileSync("/etc/os-release", "utf8");
    expect(found).toMatchObject({
      user: userInfo().username,
      hostname: hostname(),
      kernel: release(),
      arch: { x64: "x86_64", arm64: "aarch64" }[arch() as string] ?? found.arch,
      os: /^ID="?([^"\n]*)/m.exec(release_)?.[1],
      os_name: /^PRETTY_NAME="?([^"\n]*)/m.exec(release_)?.[1],
      memory_mb: Math.round(kb("MemTotal") / 1024),
    });
    expect(found.cpus).toBeGreaterThan(0);
    expect(found.memory_free_mb).toBeGreaterThan(0);
    expect(found.disk_total_mb).toBeGreaterThan(0);
    expect(found.disk_free_mb).toBeLessThanOrEqual(found.disk_total_mb);
    expect(Math.abs(found.clock_ahead)).toBeLessThanOrEqual(2);
    if (userInfo().uid === 0) expect(found.sudo).toBe("root");
  });
});

describe("the script on a host with other programs", () => {
  let bin: string;
  beforeAll(() => {
    bin = mkdtempSync(join(tmpdir(), "clm-facts-"));
    for (const tool of ["uname", "nproc", "df", "date", "sed", "cat"]) {
      symlinkSync(spawnSync("which", [tool], { encoding: "utf8" }).stdout.trim(), join(bin, tool));
    }
  });
  afterAll(() => rmSync(bin, { recursive: true }));

  const program = (name: string, script: string) => {
    writeFileSync(join(bin, name), `#!/bin/sh\n${script}\n`);
    chmodSync(join(bin, name), 0o755);
  };
  const { shells, close } = localShells({ wrap: (command) => `PATH=${bin}; exec ${command}` });
  afterAll(close);

  const someone = "case $1 in -un) echo ann ;; *) echo 1000 ;; esac";
  const systemctl =
    'case $1 in --version) echo "systemd 257 (257.8-1)"; echo "+PAM" ;; *) echo degraded; exit 1 ;; esac';

  it.each(
    shells.flatMap((shell) => [
      { name: shell.name, shell, sudo: "none", does: undefined },
      { name: shell.name, shell, sudo: "password", does: "echo 'sudo: a password is required' >&2; exit 1" },
      { name: shell.name, shell, sudo: "passwordless", does: 'exec "$2"' },
    ]),
  )("$sudo sudo, under $name", async ({ shell, sudo, does }) => {
    program("id", someone);
    program("systemctl", systemctl);
    program("true", "exit 0");
    rmSync(join(bin, "sudo"), { force: true });
    if (does) program("sudo", does);
    expect(await readFacts(shell)).toMatchObject({ user: "ann", sudo, systemd: 257, system_state: "degraded" });
  });

  it.each(shells)("no systemd, under $name", async (shell) => {
    rmSync(join(bin, "systemctl"), { force: true });
    const found = await readFacts(shell);
    expect(found).toMatchObject({ systemd: 0, system_state: "" });
    expect(found.cpus).toBeGreaterThan(0);
  });

  it("a host with an unusable shell is unsupported", async () => {
    const odd = localShells({ wrap: () => "echo This account is not available; exit 1" });
    const [shell] = odd.shells;
    if (!shell) throw new Error("no shell");
    await expect(readFacts(shell)).rejects.toMatchObject({ fault: "unsupported", exit: 17 });
    odd.close();
  });
});
