import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { clm, inHost } from "./clm.js";
import { labFixture } from "./fixture.js";

const { home } = labFixture();

const json = async (...args: string[]) => {
  const { code, stdout, stderr } = await clm([...args.slice(0, 2), "-o", "json", ...args.slice(2)], { home });
  expect(stderr).toBe("");
  return { code, data: JSON.parse(stdout) };
};

describe("host list and show", () => {
  it("list what was recorded when the lab was added", async () => {
    const { data } = await json("host", "list");
    expect(data.map((host: { name: string }) => host.name)).toEqual(["trial-1", "trial-2", "trial-3", "trial13-1"]);
    const [bookworm, , , trixie] = data;
    expect(bookworm).toMatchObject({ user: "clm", sudo: "passwordless", labels: { lab: "trial" }, agents: {} });
    expect(bookworm.facts).toMatchObject({ os: "debian", os_version: "12", arch: expect.any(String), systemd: 252 });
    expect(trixie.facts).toMatchObject({ os: "debian", os_version: "13", systemd: 257 });
    expect(bookworm.facts.cpus).toBeGreaterThan(0);
    expect(bookworm.facts.memory_mb).toBeGreaterThan(0);
  });

  it("print names for scripts and a table for people", async () => {
    expect((await clm(["host", "list", "-o", "name", "--label", "lab=trial13"], { home })).stdout).toBe("trial13-1\n");
    expect((await clm(["host", "list"], { home })).stdout).toMatch(/^NAME +ADDRESS +USER/);
  });

  it("show the host's real fingerprint", async () => {
    const { data } = await json("host", "show", "trial-1");
    const real = await inHost("trial-1", "ssh-keygen -lf /etc/ssh/ssh_host_ed25519_key.pub");
    expect(real).toContain(data.fingerprints[0]);
  });
});

describe("host check", () => {
  it("passes on a lab host, with stable ids", async () => {
    const { code, data } = await json("host", "check", "trial-1", "trial13-1");
    expect(code).toBe(0);
    const ids = [
      "ssh.reach",
      "ssh.key",
      "ssh.login",
      "sudo",
      "system.os",
      "system.arch",
      "system.systemd",
      "system.state",
    ];
    for (const host of ["trial-1", "trial13-1"]) {
      const found = data.filter((row: { host: string }) => row.host === host);
      expect(found.map((row: { id: string }) => row.id)).toEqual([...ids, "memory", "disk", "clock"]);
      expect(found.filter((row: { result: string }) => row.result === "fail")).toEqual([]);
    }
  });

  it("continues with the other hosts when one cannot be tried", async () => {
    const gone = ["host", "update", "trial-3", "--offline", "--identity", "/nope"];
    expect((await clm(gone, { home })).code).toBe(0);
    const { code, data } = await json("host", "check", "trial-1", "trial-3");
    expect(code).toBe(1);
    expect(data.filter((row: { result: string }) => row.result === "fail")).toMatchObject([
      { host: "trial-3", id: "ssh.login", reason: expect.stringContaining("/nope") },
    ]);
    await clm(["host", "update", "trial-3", "--identity", join(home, "keys", "lab_ed25519")], { home });
  });

  it("names the failed check, its reason and the next command, and ends with 1", async () => {
    await inHost("trial-2", "mv /etc/sudoers.d/clm /root/sudoers-clm 2>/dev/null || mv /etc/sudoers.d/* /root/");
    try {
      const { code, data } = await json("host", "check", "trial-2");
      expect(code).toBe(1);
      const sudo = data.find((row: { id: string }) => row.id === "sudo");
      expect(sudo).toMatchObject({ result: "fail", fix: expect.stringContaining("sudoers") });
    } finally {
      await inHost("trial-2", "mv /root/sudoers-clm /etc/sudoers.d/clm");
    }
  });
});

describe("host exec", () => {
  it("runs on many hosts at once and groups equal output", async () => {
    const { code, stdout } = await clm(["host", "exec", "trial-*", "--", "uname", "-n"], { home });
    expect(code).toBe(0);
    for (const n of [1, 2, 3]) expect(stdout).toContain(`trial-${n}:\ntrial-${n}\n`);
  });

  it("passes several arguments on unchanged, and one to the host's shell", async () => {
    const words = ["a b", "$HOME", "it's", '"', "*", "", "\\n", "ü"];
    const several = await json("host", "exec", "trial-1", "--", "printf", "[%s]", ...words);
    expect(several.data[0].stdout).toBe(words.map((word) => `[${word}]`).join(""));
    const one = await json("host", "exec", "trial-1", "--", "echo a | tr a b");
    expect(one.data[0].stdout).toBe("b\n");
  });

  it("ends with the worst code of all hosts", async () => {
    const { code, stderr } = await clm(["host", "exec", "trial-*", "--", 'test "$(uname -n)" != trial-2 || exit 7'], {
      home,
    });
    expect(code).toBe(7);
    expect(stderr).toContain("trial-2: ended with 7");
  });

  it("runs as root with --sudo", async () => {
    const { data } = await json("host", "exec", "trial-1", "trial13-1", "--sudo", "--", "id", "-un");
    expect(data.map((answer: { stdout: string }) => answer.stdout)).toEqual(["root\n", "root\n"]);
  });

  it("records only the program's name in the audit log", async () => {
    for (const command of [["env", "PGPASSWORD=hunter9", "true"], ["TOKEN=hunter9 curl --header 'hunter9' || true"]]) {
      await clm(["host", "exec", "trial-1", "--", ...command], { home });
    }
    const log = await readFile(join(home, "audit.jsonl"), "utf8");
    expect(log).not.toContain("hunter9");
    expect(log).toContain('"--","env"]');
    expect(log).toContain('"--","curl"]');
  });

  it("refuses --all together with names or labels", async () => {
    for (const more of [["trial-1"], ["--label", "lab=trial"]]) {
      expect((await clm(["host", "exec", "--all", ...more, "--", "true"], { home })).code).toBe(2);
    }
  });

  it("shows the output before a timeout", async () => {
    const { stdout } = await clm(["host", "exec", "trial-1", "--timeout", "1", "--", "echo first; sleep 60"], { home });
    expect(stdout).toBe("first\n");
  });

  it("stops a command on the host at a timeout", async () => {
    const { code, stderr } = await clm(["host", "exec", "trial-1", "--timeout", "1", "--", "sleep", "60"], { home });
    expect(code).toBe(18);
    expect(stderr).toContain("CLM-3002");
  });

  it("passes megabytes in both directions completely", async () => {
    const { data } = await json("host", "exec", "trial-1", "--", "head -c 3000000 /dev/zero | tr '\\0' x");
    expect(data[0].stdout.length).toBe(3_000_000);
  });
});

describe("changing the fleet", () => {
  it("updates labels, renames and removes, each in the audit log", async () => {
    const call = async (...args: string[]) => {
      const result = await clm(args, { home });
      expect(result).toMatchObject({ code: 0 });
      return result;
    };
    await call("host", "update", "trial-3", "--label", "rack=b2");
    expect((await clm(["host", "list", "--label", "rack=b2", "-o", "name"], { home })).stdout).toBe("trial-3\n");
    await call("host", "rename", "trial-3", "third");
    await call("host", "exec", "third", "--", "true");
    expect((await clm(["host", "remove", "third"], { home })).code).toBe(6);
    await call("host", "remove", "third", "--yes");
    expect((await clm(["host", "show", "third"], { home })).code).toBe(4);
    await call("audit", "--verify");
    const { data } = await json("audit");
    const said = data.map((entry: { verb: string; target: string }) => `${entry.verb} ${entry.target}`);
    for (const action of ["host update trial-3", "host rename trial-3", "host exec third", "host remove third"]) {
      expect(said).toContain(action);
    }
    expect(await readFile(join(home, "known_hosts"), "utf8")).not.toContain("third ");
  });

  it("changes nothing in a dry run", async () => {
    const files = ["hosts.json", "known_hosts", "audit.jsonl"].map((name) => join(home, name));
    const before = await Promise.all(files.map((file) => readFile(file, "utf8")));
    for (const args of [
      ["host", "update", "trial-1", "--label", "a=b"],
      ["host", "rename", "trial-1", "other"],
      ["host", "remove", "trial-1"],
    ]) {
      const { code, stderr } = await clm([...args, "--dry-run"], { home });
      expect([code, stderr]).toEqual([0, expect.stringContaining("would ")]);
    }
    expect(await Promise.all(files.map((file) => readFile(file, "utf8")))).toEqual(before);
  });
});
