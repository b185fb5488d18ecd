import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { clm, inHost } from "./clm.js";
import { labFixture } from "./fixture.js";
import { onTerminal } from "./terminal.js";

let address: Record<string, string>;
let fingerprint: string;
let identity: string;

const { home } = labFixture({ perTest: true });
beforeEach(async () => {
  const { hosts } = JSON.parse(readFileSync(join(home, "hosts.json"), "utf8"));
  address = Object.fromEntries(hosts.map((host: { name: string; address: string }) => [host.name, host.address]));
  fingerprint = JSON.parse((await clm(["host", "show", "trial-2", "-o", "json"], { home })).stdout).fingerprints[0];
  identity = join(home, "keys", "lab_ed25519");
});

/** The test's own ssh_config instead of the user's. */
const sshConfig = (text: string) => {
  const path = join(home, "ssh_config");
  writeFileSync(path, `UserKnownHostsFile ${join(home, "users_known_hosts")}\nGlobalKnownHostsFile none\n${text}`);
  return { CLM_SSH_CONFIG: path };
};
const exec = (name: string, command: string, env: NodeJS.ProcessEnv) =>
  clm(["host", "exec", name, "--", command], { home, env });

describe("~/.ssh/config", () => {
  it("gives the address, the user and the key of a host", async () => {
    const env = sshConfig(
      `Host short\n  HostName ${address["trial-2"]}\n  User clm\n  Port 22\n  IdentityFile ${identity}\n`,
    );
    const added = await clm(["host", "add", "short", "--fingerprint", fingerprint], { home, env });
    expect(added).toMatchObject({ code: 0 });
    expect((await exec("short", "uname -n", env)).stdout).toBe("trial-2\n");
  });

  it("gives a jump host, whose key is pinned too", async () => {
    const env = sshConfig(
      `Host inner\n  HostName ${address["trial-2"]}\n  ProxyJump clm@${address["trial-1"]}\nHost *\n  User clm\n  IdentityFile ${identity}\n`,
    );
    const refused = await clm(["host", "add", "inner", "--fingerprint", fingerprint], { home, env });
    expect(refused.code).toBe(12);
    expect(refused.stderr).toContain(address["trial-1"]);
    expect((await clm(["host", "add", "inner", "--accept-new"], { home, env })).code).toBe(0);
    const { stdout } = await exec("inner", "echo $SSH_CONNECTION; uname -n", env);
    expect(stdout).toMatch(new RegExp(`^${address["trial-1"]} .*\ntrial-2\n$`));
    expect(readFileSync(join(home, "known_hosts"), "utf8")).toContain(`${address["trial-1"]} ssh-ed25519 `);
  });

  it("gives a jump host whose changed key is pinned again by its address", async () => {
    const env = sshConfig(
      `Host inner\n  HostName ${address["trial-2"]}\n  ProxyJump clm@${address["trial-1"]}\nHost *\n  User clm\n  IdentityFile ${identity}\n`,
    );
    expect((await clm(["host", "add", "inner", "--accept-new"], { home, env })).code).toBe(0);
    const file = join(home, "known_hosts");
    const pins = readFileSync(file, "utf8");
    const line = pins.split("\n").find((each) => each.startsWith("trial-3 ")) ?? "";
    const jump = pins.split("\n").find((each) => each.startsWith(`${address["trial-1"]} `)) ?? "";
    writeFileSync(file, pins.replace(jump, line.replace("trial-3", address["trial-1"] ?? "")));
    const refused = await exec("inner", "true", env);
    expect([refused.code, refused.stderr]).toEqual([
      12,
      expect.stringContaining(`clm host trust ${address["trial-1"]}`),
    ]);
    const real = execFileSync("ssh-keygen", ["-lf", "-"], { input: jump, encoding: "utf8" }).split(" ")[1] ?? "";
    const trust = ["host", "trust", address["trial-1"] ?? "", "--fingerprint", real];
    expect((await clm(trust, { home, env })).code).toBe(0);
    expect((await exec("inner", "true", env)).code).toBe(0);
  });

  it("lets clm trust the user's own known_hosts, which is not written", async () => {
    const line = execFileSync("grep", ["^trial-2 ", join(home, "known_hosts")], { encoding: "utf8" });
    const file = join(home, "users_known_hosts");
    writeFileSync(file, line.replace("trial-2", address["trial-2"] ?? ""));
    chmodSync(file, 0o400);
    const env = sshConfig(`Host *\n  User clm\n  IdentityFile ${identity}\n`);
    const added = await clm(["host", "add", "vouched", "--address", address["trial-2"] ?? ""], { home, env });
    expect(added).toMatchObject({ code: 0 });
    // Only for hosts without a pin; a changed key is asked about.
    const again = await clm(["host", "trust", "trial-2"], { home, env });
    expect([again.code, again.stderr]).toEqual([0, expect.stringContaining("still has the pinned key")]);
    writeFileSync(file, line.replace("trial-2", `@revoked ${address["trial-2"]}`));
    expect((await exec("vouched", "true", env)).code).toBe(12);
  });
});

describe("a key file", () => {
  it("is recorded with its absolute path", async () => {
    const relative = ["host", "update", "trial-2", "--identity", `${"../".repeat(20)}${identity.slice(1)}`];
    expect((await clm(relative, { home })).code).toBe(0);
    const { hosts } = JSON.parse(readFileSync(join(home, "hosts.json"), "utf8"));
    expect(hosts.find(({ name }: { name: string }) => name === "trial-2").identity).toBe(identity);
  });
});

describe("logging in by", () => {
  beforeAll(async () => {
    await inHost(
      "trial-2",
      `useradd -m -s /bin/bash -G sudo pia && echo 'pia:swordfish' | chpasswd
       install -d -m 700 -o pia -g pia /home/pia/.ssh`,
    );
  });
  afterAll(async () => {
    await inHost("trial-2", "pkill -KILL -u pia; userdel -r pia 2>/dev/null || true");
  });

  const add = (name: string, ...more: string[]) => [
    ...[
      "host",
      "add",
      name,
      "--address",
      address["trial-2"] ?? "",
      "--user",
      "pia",
      "--fingerprint",
      fingerprint,
      ...more,
    ],
  ];

  it("a password typed at a prompt, for the host and for sudo", async () => {
    const env = sshConfig("");
    const added = await onTerminal(add("typed"), { home, env, answers: [[/Password for pia@/, "swordfish\r"]] });
    expect(added).toMatchObject({ code: 0 });
    const root = await onTerminal(["host", "exec", "typed", "--sudo", "--", "id", "-un"], {
      home,
      env,
      answers: [
        [/Password for pia@/, "swordfish\r"],
        [/sudo password of pia@/, "swordfish\r"],
      ],
    });
    expect(root.screen).toContain("root");
    expect(added.screen + root.screen).not.toContain("swordfish");
  });

  it("a key with a passphrase", async () => {
    const key = join(home, "locked");
    execFileSync("ssh-keygen", ["-q", "-t", "ed25519", "-N", "open it", "-f", key]);
    const publicKey = readFileSync(`${key}.pub`, "utf8").trim();
    await inHost("trial-2", `echo '${publicKey}' > /home/pia/.ssh/authorized_keys`);
    const env = sshConfig("");
    const added = await onTerminal(add("locked", "--identity", key), {
      home,
      env,
      answers: [[/Passphrase for/, "open it\r"]],
    });
    expect(added).toMatchObject({ code: 0 });
    const without = await clm(["host", "exec", "locked", "--", "true"], { home, env });
    expect([without.code, without.stderr]).toEqual([11, expect.stringContaining("needs a passphrase")]);
  });

  it("a key in an ssh agent", async () => {
    const key = join(home, "agents");
    execFileSync("ssh-keygen", ["-q", "-t", "ed25519", "-N", "", "-f", key]);
    await inHost("trial-2", `echo '${readFileSync(`${key}.pub`, "utf8").trim()}' > /home/pia/.ssh/authorized_keys`);
    const socket = join(home, "agent.sock");
    const agent = spawn("ssh-agent", ["-D", "-a", socket], { stdio: ["ignore", "pipe", "ignore"] });
    await once(agent.stdout, "data");
    try {
      execFileSync("ssh-add", ["-q", key], { env: { ...process.env, SSH_AUTH_SOCK: socket } });
      const env = { ...sshConfig(""), SSH_AUTH_SOCK: socket };
      expect(await clm(add("agents"), { home, env })).toMatchObject({ code: 0 });
    } finally {
      agent.kill();
    }
  });
});

describe("logging in as root", () => {
  it("needs no sudo", async () => {
    await inHost("trial-2", "install -d -m 700 /root/.ssh && cp ~clm/.ssh/authorized_keys /root/.ssh/authorized_keys");
    try {
      const add = [
        "host",
        "add",
        "rooted",
        "--address",
        address["trial-2"] ?? "",
        "--user",
        "root",
        "--identity",
        identity,
      ];
      const added = await clm([...add, "--fingerprint", fingerprint, "-o", "json"], { home });
      expect(JSON.parse(added.stdout)).toMatchObject([{ sudo: "root" }]);
      const { stdout } = await clm(["host", "exec", "rooted", "--sudo", "--", "id", "-un"], { home });
      expect(stdout).toBe("root\n");
    } finally {
      await inHost("trial-2", "rm -r /root/.ssh");
    }
  });
});

describe("clm init", () => {
  it("creates a key that works where its public half is authorized", async () => {
    const { stdout } = await clm(["init", "-o", "json"], { home });
    const { public_key, identity: own } = JSON.parse(stdout);
    await inHost(
      "trial-2",
      `cp ~clm/.ssh/authorized_keys /root/lab-key && echo '${public_key}' > ~clm/.ssh/authorized_keys`,
    );
    try {
      const add = ["host", "add", "inited", "--address", address["trial-2"] ?? "", "--user", "clm"];
      const added = await clm([...add, "--fingerprint", fingerprint], { home, env: sshConfig("IdentityFile none\n") });
      expect(added).toMatchObject({ code: 0 });
      expect(statSync(own).mode & 0o777).toBe(0o600);
    } finally {
      await inHost("trial-2", "cat /root/lab-key > ~clm/.ssh/authorized_keys && rm /root/lab-key");
    }
  });
});

describe("a user at a terminal", () => {
  const add = () => [
    "host",
    "add",
    "asked",
    "--address",
    address["trial-2"] ?? "",
    "--user",
    "clm",
    "--identity",
    identity,
  ];

  it("is shown the fingerprint and asked to confirm it", async () => {
    const env = sshConfig("");
    const { code, screen } = await onTerminal(add(), { home, env, answers: [[/Is this the host's key/, "y\r"]] });
    expect(code).toBe(0);
    expect(screen).toContain(fingerprint);
  });

  it("may refuse, and nothing is stored", async () => {
    const env = sshConfig("");
    const before = readFileSync(join(home, "known_hosts"), "utf8");
    const { code } = await onTerminal(add(), { home, env, answers: [[/Is this the host's key/, "n\r"]] });
    expect(code).toBe(6);
    expect(readFileSync(join(home, "known_hosts"), "utf8")).toBe(before);
    expect((await clm(["host", "show", "asked"], { home })).code).toBe(4);
  });
});
