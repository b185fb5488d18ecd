import type { ChildProcess } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { connect } from "../../src/remote/connect.js";
import { run } from "../../src/remote/run.js";
import { Secret } from "../../src/secret.js";
import { findHost, hostStore } from "../../src/state/hosts.js";
import { clm, inHost, whenRunning } from "../lab/clm.js";
import { meansFor } from "../lab/connect.js";
import { labFixture } from "../lab/fixture.js";

const host = "trial-3";

const { home } = labFixture({ perTest: true });

const edit = async (change: (host: Record<string, unknown>) => void) => {
  const path = join(home, "hosts.json");
  const file = JSON.parse(await readFile(path, "utf8"));
  change(file.hosts.find((each: { name: string }) => each.name === host));
  await writeFile(path, JSON.stringify(file));
};

describe("each broken host has its own exit code and message", () => {
  it("unknown host", async () => {
    const { code, stderr } = await clm(["host", "exec", "trail-3", "--", "true"], { home });
    expect(code).toBe(4);
    expect(stderr).toMatch(/CLM-1002[\s\S]*clm host list/);
  });

  it("wrong user", async () => {
    await edit((record) => {
      record.user = "nobody-here";
    });
    const { code, stderr } = await clm(["host", "exec", host, "--", "true"], { home });
    expect(code).toBe(11);
    expect(stderr).toMatch(/did not let nobody-here in \[CLM-2003\]/);
  });

  it("closed port", async () => {
    await edit((record) => {
      record.port = 2;
    });
    const { code, stderr } = await clm(["host", "exec", host, "--", "true"], { home });
    expect(code).toBe(10);
    expect(stderr).toMatch(/CLM-2002.*connection refused/s);
  });

  it("an address without a host", async () => {
    await edit((record) => {
      record.address = "no-such-host.invalid";
    });
    const { code, stderr } = await clm(["host", "check", host, "-o", "json"], { home });
    expect(code).toBe(1);
    expect(stderr).toBe("");
  });

  it("a host that goes away in the middle", async () => {
    const cut = () => whenRunning(host, "sleep 60", () => inHost(host, "pkill -KILL -f 'sshd: [c]lm'"));
    const { code, stderr } = await clm(["host", "exec", host, "--", "sleep", "60"], { home, during: cut });
    expect(code).toBe(14);
    expect(stderr).toMatch(/lost the connection to trial-3.*CLM-2005/);
  });

  it("a host that freezes in the middle", async () => {
    const freeze = () => whenRunning(host, "sleep 100", () => inHost(host, "pkill -STOP -f 'sshd: [c]lm'"));
    const { code, stderr } = await clm(["host", "exec", host, "--", "sleep", "100"], { home, during: freeze });
    await inHost(host, "pkill -CONT -f 'sshd: [c]lm' || true; pkill sleep || true");
    expect(code).toBe(14);
    expect(stderr).toMatch(/it stopped answering/);
  });
});

describe("sudo with a password", () => {
  beforeAll(async () => {
    await inHost(
      host,
      `useradd -m -s /bin/bash -G sudo pat && echo 'pat:open sesame' | chpasswd
       install -d -m 700 -o pat -g pat /home/pat/.ssh
       install -m 600 -o pat -g pat ~clm/.ssh/authorized_keys /home/pat/.ssh/authorized_keys`,
    );
  });
  afterAll(async () => {
    await inHost(host, "pkill -KILL -u pat; userdel -r pat 2>/dev/null || true");
  });

  const asPat = () =>
    edit((record) => {
      record.user = "pat";
      record.sudo = "password";
    });
  const whoami = ["host", "exec", host, "--sudo", "--", "id", "-un"];

  it("becomes root with the right one, which shows nowhere", async () => {
    await asPat();
    const { code, stdout, stderr } = await clm(
      [...whoami, "--debug"].sort((a) => (a === "--debug" ? -1 : 0)),
      {
        home,
        env: { CLM_SUDO_PASSWORD: "open sesame" },
      },
    );
    expect([code, stdout]).toEqual([0, "root\n"]);
    expect(stdout + stderr).not.toContain("open sesame");
  });

  it("works repeatedly on one connection", async () => {
    await asPat();
    const target = findHost(hostStore(home).read().hosts, host);
    const sudo = async () => new Secret("open sesame");
    const connection = await connect(target, {
      ...meansFor(home),
      credentials: { ...meansFor(home).credentials, sudo },
    });
    for (let turn = 0; turn < 3; turn++) {
      const answers = await Promise.all(Array.from({ length: 6 }, () => run(connection.as("root"), "id -un")));
      expect(answers.map(({ stdout }) => stdout)).toEqual(answers.map(() => "root\n"));
    }
    connection.close();
  });

  it("reports an unreadable password file", async () => {
    await asPat();
    const { code, stderr } = await clm(["host", "exec", host, "--sudo", "--sudo-password-file", "/nope", "--", "id"], {
      home,
    });
    expect([code, stderr]).toEqual([2, expect.stringContaining("cannot be read from /nope")]);
  });

  it("is read from a file", async () => {
    await asPat();
    const file = join(home, "password");
    await writeFile(file, "open sesame\n", { mode: 0o600 });
    const { stdout } = await clm(["host", "exec", host, "--sudo", "--sudo-password-file", file, "--", "id", "-un"], {
      home,
    });
    expect(stdout).toBe("root\n");
  });

  it("is refused at once when it is wrong", async () => {
    await asPat();
    const { code, stderr } = await clm(whoami, { home, env: { CLM_SUDO_PASSWORD: "wrong" } });
    expect(code).toBe(13);
    expect(stderr).toMatch(/pat cannot become root on trial-3.*CLM-2004.*not accepted/s);
    expect(stderr).not.toContain("wrong\n");
  });

  it("is reported as missing without a terminal", async () => {
    await asPat();
    const { code, stderr } = await clm(whoami, { home });
    expect([code, stderr]).toEqual([13, expect.stringContaining("no terminal to prompt on")]);
  });

  it("is reported as needed when the record says otherwise", async () => {
    await edit((record) => {
      record.user = "pat";
    });
    const { code, stderr } = await clm(whoami, { home });
    expect(code).toBe(13);
    expect(stderr).toContain("a password is required");
  });

  it("is detected by host add", async () => {
    const { fingerprints, address, identity } = JSON.parse(
      (await clm(["host", "show", host, "-o", "json"], { home })).stdout,
    );
    const add = ["host", "add", "pats", "--address", address, "--user", "pat", "--identity", identity];
    const { code, stdout } = await clm([...add, "--fingerprint", fingerprints[0], "-o", "json"], { home });
    expect(code).toBe(0);
    expect(JSON.parse(stdout)[0]).toMatchObject({ name: "pats", sudo: "password" });
  });
});

describe("stopping", () => {
  const sleeping = ["host", "exec", host, "--", "sleep", "61"];
  afterEach(() => inHost(host, "pkill sleep || true"));

  it.each([
    ["Ctrl-C", [], "SIGINT", 130],
    ["kill -9", [], "SIGKILL", null],
    ["its time being up", ["--timeout", "2"], undefined, 18],
  ] as const)("by %s also ends the process that sudo started on the host", async (_by, more, signal, expected) => {
    const args = ["host", "exec", host, ...more, "--sudo", "--", "echo begun; sleep 4243 & sleep 4243"];
    const stop = (child: ChildProcess) => signal && whenRunning(host, "sleep 4243", () => child.kill(signal));
    const { code, stdout } = await clm(args, { home, during: stop });
    expect([code, stdout]).toEqual([expected, "begun\n"]);
    expect(await inHost(host, "sleep 2; pgrep -f 'sleep 424[3]' || echo gone")).toBe("gone\n");
  });

  it("with one Ctrl-C ends the command in order", async () => {
    const { code, stderr } = await clm(sleeping, {
      home,
      during: (child) => whenRunning(host, "sleep 61", () => child.kill("SIGINT")),
    });
    expect(code).toBe(130);
    expect(stderr).toMatch(/CLM-7001/);
    const { stdout } = await clm(["audit", "--last", "1", "-o", "json"], { home });
    expect(JSON.parse(stdout)).toMatchObject([{ verb: "host exec", result: "interrupted" }]);
  });

  it("with two ends it at once, and the audit log has its start", async () => {
    const twice = (child: ChildProcess) =>
      whenRunning(host, "sleep 61", () => {
        child.kill("SIGINT");
        setTimeout(() => child.kill("SIGINT"), 100);
      });
    const { code } = await clm(sleeping, { home, during: twice });
    expect(code).toBe(130);
    expect((await clm(["audit", "--verify"], { home })).code).toBe(0);
  });

  it("by kill -9 leaves the state intact and nothing locked", async () => {
    await clm(sleeping, { home, during: (child) => whenRunning(host, "sleep 61", () => child.kill("SIGKILL")) });
    const { code } = await clm(["host", "update", host, "--label", "after=kill"], { home });
    expect(code).toBe(0);
    expect((await clm(["audit", "--verify"], { home })).code).toBe(0);
  });
});
