import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { AgentRecord } from "../../src/state/agent.js";
import { recordAgent } from "../../src/state/agents.js";
import { hostStore } from "../../src/state/hosts.js";
import { openSecrets } from "../../src/state/secrets.js";
import { asEcho } from "./agents.js";
import { clm, inHost } from "./clm.js";
import { labFixture } from "./fixture.js";
import { onTerminal } from "./terminal.js";
import { accountsOf, treeOf } from "./tree.js";

const host = "trial-1";

const agent = (...words: string[]) => clm(["agent", ...words], { home });
const install = (name: string, where = host) =>
  agent("install", "--type", "hermes", "--host", where, "--name", name).then(({ code, stderr }) => {
    if (code !== 0) throw new Error(stderr);
  });
const recordOf = (name: string, where = host) =>
  hostStore(home)
    .read()
    .hosts.find((each) => each.name === where)?.agents[name];
const secretsOf = (name: string) => openSecrets(home).names({ host, type: "hermes", agent: name });
const unitOf = (name: string) =>
  inHost(host, `systemctl is-enabled hermes-${name}.service; systemctl is-active hermes-${name}.service; true`);

/** The part of configuring that a start needs. */
async function makeReady(name: string): Promise<void> {
  const key = openSecrets(home).get({ host, type: "hermes", agent: name }, "HERMES_API_SERVER_KEY")?.reveal();
  const env = `API_SERVER_ENABLED=1\\nAPI_SERVER_HOST=127.0.0.1\\nAPI_SERVER_PORT=${recordOf(name)?.port}\\nAPI_SERVER_KEY=${key}\\n`;
  await inHost(host, `printf '${env}' > /home/${name}/.hermes/.env`);
  await recordAgent(
    hostStore(home),
    { host, name },
    (record) => record && { ...record, onboarding: { ...record.onboarding, state: "ready" } },
  );
}

const { home } = labFixture({ perTest: true });

describe("start, stop and restart", () => {
  it("start refuses until onboarding is complete", async () => {
    await install("ada");
    const { code, stderr } = await agent("start", "ada");
    expect(code).toBe(8);
    expect(stderr).toContain(
      "Cannot start trial-1:hermes:ada: onboarding incomplete (state=providers). Run 'clm agent configure ada' first.",
    );
    expect(await unitOf("ada")).toBe("disabled\ninactive\n");
    expect((await agent("restart", "ada")).code).toBe(8);
    // With --force it starts, and reports what is missing.
    const forced = await agent("start", "ada", "--force");
    expect([forced.code, forced.stderr]).toEqual([0, expect.stringContaining("nothing listens on port 8642")]);
    expect(await unitOf("ada")).toBe("enabled\nactive\n");
  });

  it("start, accept its own key, and stop again", async () => {
    await install("ada");
    await makeReady("ada");
    const started = await agent("start", "ada");
    expect([started.code, started.stdout]).toEqual([0, expect.stringMatching(/^auth\.own-key +ok/m)]);
    expect(await unitOf("ada")).toBe("enabled\nactive\n");
    const again = await agent("start", "ada");
    expect([again.code, again.stderr]).toEqual([
      0,
      expect.stringContaining("was running already; nothing was changed"),
    ]);

    const pid = () => inHost(host, "systemctl show --property MainPID --value hermes-ada");
    const was = await pid();
    const restarted = await agent("restart", "ada");
    expect([restarted.code, restarted.stdout]).toEqual([0, expect.stringMatching(/^auth\.own-key +ok/m)]);
    expect(await pid()).not.toBe(was);

    const stopped = await agent("stop", "ada");
    expect([stopped.code, stopped.stderr]).toEqual([0, expect.stringContaining("is stopped; its data is kept")]);
    expect(await unitOf("ada")).toBe("disabled\ninactive\n");
    expect(await inHost(host, "ls /home/ada/.hermes/.env")).toBe("/home/ada/.hermes/.env\n");
    expect((await agent("stop", "ada")).stderr).toContain("was stopped already; nothing was changed");
  });

  it("print JSON for one agent, and in a dry run the planned changes", async () => {
    await install("ada");
    await makeReady("ada");
    const told = async (...words: string[]) => {
      const { code, stdout, stderr } = await agent(...words, "ada", "-o", "json");
      expect(code, stderr).toBe(0);
      return { stderr, ...JSON.parse(stdout) };
    };
    const unit = "unit hermes-ada.service";
    const identity = { agent: "trial-1:hermes:ada", name: "ada", host, state: "ready", status: "installed" };
    const up = [{ what: unit, differences: ["disabled -> enabled", "inactive -> started"] }];
    const down = [{ what: unit, differences: ["enabled -> disabled", "active -> stopped"] }];

    expect(await told("start", "--dry-run")).toMatchObject({ ...identity, changes: up, proofs: [] });
    expect(await unitOf("ada")).toBe("disabled\ninactive\n");
    const started = await told("start");
    expect(started).toMatchObject({ ...identity, changes: up });
    expect(started.proofs.length).toBeGreaterThan(0);
    const again = await told("start", "--dry-run");
    expect([again.changes, again.stderr]).toEqual([[], "ada is running already; nothing would change\n"]);

    const restart = await told("restart", "--dry-run");
    expect(restart).toMatchObject({ ...identity, changes: [{ what: unit, differences: ["restart"] }] });
    const would = await told("stop", "--dry-run");
    expect(would).toMatchObject({ ...identity, changes: down });
    expect(would.stderr).toBe(
      `would stop trial-1:hermes:ada\nwould change ${unit}: ${down[0]?.differences.join(", ")}\n`,
    );
    expect(await unitOf("ada")).toBe("enabled\nactive\n");
    expect(await told("stop")).toMatchObject({ ...identity, changes: down });
    expect((await told("stop", "--dry-run")).stderr).toBe("ada is stopped already; nothing would change\n");
  });

  it("an agent stopped by SIGTERM is stopped, not failed", async () => {
    await install("ada");
    await makeReady("ada");
    await inHost(
      host,
      "mkdir -p /run/systemd/system/hermes-ada.service.d && printf '[Service]\\nKillSignal=SIGTERM\\n' > /run/systemd/system/hermes-ada.service.d/term.conf && systemctl daemon-reload",
    );
    try {
      await agent("start", "ada");
      expect((await agent("stop", "ada")).code).toBe(0);
      expect(await inHost(host, "systemctl is-failed hermes-ada; systemctl --failed --no-legend")).toBe("inactive\n");
    } finally {
      await inHost(host, "rm -r /run/systemd/system/hermes-ada.service.d; systemctl daemon-reload");
    }
  });

  it("restart checks its preconditions before it stops anything", async () => {
    await install("ada");
    await makeReady("ada");
    await agent("start", "ada");
    await inHost(host, "mv /home/ada/.local/bin/hermes /home/ada/hermes");
    const { code, stderr } = await agent("restart", "ada");
    expect([code, stderr]).toEqual([1, expect.stringMatching(/version: [\s\S]*next: clm agent install /)]);
    expect(await unitOf("ada")).toBe("enabled\nactive\n");
  });

  it("start names another process on its port as the reason", async () => {
    await install("ada");
    await makeReady("ada");
    await inHost(
      host,
      "systemd-run -q --unit trial-listen python3 -m http.server --bind 127.0.0.1 8642; for n in $(seq 50); do curl -s -o /dev/null 127.0.0.1:8642 && exit 0; sleep 0.1; done; exit 1",
    );
    try {
      const { code, stderr } = await agent("start", "ada");
      expect([code, stderr]).toEqual([1, expect.stringMatching(/port: another process has port 8642/)]);
    } finally {
      await inHost(host, "systemctl stop trial-listen");
    }
  });
});

it("a unit that install changed must be validated again", async () => {
  await install("ada");
  await makeReady("ada");
  const { code, stderr } = await agent("install", "--host", host, "--name", "ada", "--relaxed");
  expect([code, stderr]).toEqual([0, expect.stringContaining("repaired unit hermes-ada.service: content")]);
  expect(stderr.trimEnd()).toMatch(/next: clm agent configure ada$/);
  expect(recordOf("ada")).toMatchObject({ relaxed: true, status: "installed", onboarding: { state: "validate" } });
  expect((await agent("start", "ada")).code).toBe(8);
  // Nothing changed, so the agent stays validated.
  await makeReady("ada");
  expect((await agent("install", "--host", host, "--name", "ada", "--relaxed")).stderr).toContain(
    "nothing was changed",
  );
  expect(recordOf("ada")?.onboarding.state).toBe("ready");
});

describe("from install to remove", () => {
  const hostOf = (name: string) =>
    hostStore(home)
      .read()
      .hosts.find((each) => each.name === name);

  async function wholeLife(where: string, ...words: string[]): Promise<void> {
    expect((await clm(["provider", "add", "echo", ...asEcho], { home })).code).toBe(0);
    for (const verb of [
      ["install", "--type", "hermes", "--host", where, "--name", "ada"],
      ["configure", "ada", "--provider", "echo"],
      ["remove", "ada", "--yes"],
    ]) {
      const { code, stderr } = await agent(...verb, ...words);
      expect([code, stderr]).toEqual([0, expect.any(String)]);
      if (verb[0] === "configure") expect(recordOf("ada", where)?.onboarding.state).toBe("ready");
    }
    expect(recordOf("ada", where)).toBeUndefined();
  }

  it("where sudo requires a password now", async () => {
    const file = join(home, "sudo-password");
    writeFileSync(file, "swordfish\n", { mode: 0o600 });
    await inHost(
      host,
      `getent shadow clm | cut -d: -f2 > /root/shadow-clm; mv /etc/sudoers.d/clm /root/sudoers-clm
      echo 'clm:swordfish' | chpasswd; echo 'clm ALL=(ALL) ALL' > /etc/sudoers.d/clm-asks`,
    );
    try {
      expect(hostOf(host)?.sudo).toBe("passwordless");
      await wholeLife(host, "--sudo-password-file", file);
      expect(hostOf(host)?.sudo).toBe("password");
      for (const name of ["hosts.json", "audit.jsonl"])
        expect(readFileSync(join(home, name), "utf8")).not.toContain("swordfish");
    } finally {
      await inHost(
        host,
        `rm -f /etc/sudoers.d/clm-asks; mv /root/sudoers-clm /etc/sudoers.d/clm
        usermod -p "$(cat /root/shadow-clm)" clm; rm /root/shadow-clm`,
      );
    }
  });

  it("where clm logs in as root", async () => {
    const address = hostOf(host)?.address ?? "";
    const { stdout } = await clm(["host", "show", host, "-o", "json"], { home });
    const trusted = ["--fingerprint", JSON.parse(stdout).fingerprints[0]];
    const login = ["--user", "root", "--identity", join(home, "keys", "lab_ed25519")];
    await inHost(host, "install -d -m 700 /root/.ssh && cp ~clm/.ssh/authorized_keys /root/.ssh/authorized_keys");
    try {
      const lab = ["--label", "lab=trial"];
      const added = await clm(["host", "add", "rooted", "--address", address, ...login, ...trusted, ...lab], { home });
      expect(added).toMatchObject({ code: 0 });
      await wholeLife("rooted");
    } finally {
      await inHost(host, "rm -r /root/.ssh");
    }
  });
});

describe("remove", () => {
  const remember = `
    echo 'the cat is called Schrödinger' > /home/ada/.hermes/memories/MEMORY.md
    ln -s /etc/shadow /home/ada/.hermes/memories/USER.md
    echo '{}' > /home/ada/.hermes/cron/jobs.json
    chown -h ada:ada /home/ada/.hermes/memories/* /home/ada/.hermes/cron/jobs.json
    rm -f /home/ada/.hermes/state.db*
    setpriv --reuid ada --regid ada --clear-groups python3 - <<END
import sqlite3
db = sqlite3.connect("/home/ada/.hermes/state.db")
db.execute("pragma journal_mode = wal")
db.execute("create table said (what)")
db.execute("insert into said values ('hello')")
db.commit()
import os, signal
os.kill(os.getpid(), signal.SIGKILL)  # what was said is in the journal, not in the file
END
    true`;

  describe.each(["trial-1", "trial13-1"])("%s", (where) => {
    it("is left as it was, with the agent running or not", async () => {
      const [tree, accounts] = [await treeOf(where), await accountsOf(where)];
      await install("ada", where);
      await install("ben", where);
      await agent("start", `${where}/ada`, "--force");
      await inHost(where, "loginctl enable-linger ada; crontab -u ada -l >/dev/null 2>&1; true");
      expect((await agent("remove", `${where}/ada`, "--yes")).code).toBe(0);
      expect((await agent("remove", `${where}/ben`, "--yes")).code).toBe(0);
      expect([await treeOf(where), await accountsOf(where)]).toEqual([tree, accounts]);
      expect(
        await inHost(
          where,
          "systemctl --failed --no-legend; systemctl list-units --all --no-legend 'hermes-*' 'clm-job-*'",
        ),
      ).toBe("");
    });
  });

  it("backs up the agent's data: complete, private, and no foreign files", async () => {
    await install("ada");
    await inHost(host, remember);
    const wrote = "/home/ada/.hermes/skills/own/haiku /home/ada/project";
    await inHost(host, `runuser -u ada -- sh -c 'for d in ${wrote}; do mkdir -p $d; echo mine >$d/SKILL.md; done'`);
    const { code, stderr, stdout } = await agent("remove", "ada", "--yes", "-o", "json");
    expect([code, stderr]).toEqual([0, expect.stringContaining("without .env")]);
    const { backup } = JSON.parse(stdout);
    expect(stderr).toContain(backup);
    expect(statSync(backup).mode & 0o777).toBe(0o600);
    const names = execFileSync("tar", ["-tzf", backup], { encoding: "utf8" });
    const kept = names.trim().split("\n");
    // Every new account gets these files.
    expect(kept.filter((name) => !/^home\/\.(bash|profile)/.test(name)).sort()).toEqual(
      [
        ...["SOUL.md", "config.yaml", "cron/jobs.json", "memories/MEMORY.md", "state.db"],
        ...["skills/own/haiku/SKILL.md", "home/project/SKILL.md"],
      ].sort(),
    );
    const read = (name: string) => execFileSync("tar", ["-xzOf", backup, name]);
    expect(read("memories/MEMORY.md").toString()).toContain("Schrödinger");
    expect(read("state.db").includes("hello")).toBe(true);
    expect(readdirSync(join(home, "backups", "agents"))).toHaveLength(1);
    expect(recordOf("ada")).toBeUndefined();
    expect(secretsOf("ada")).toEqual([]);
  });

  it("without a good backup nothing is removed, unless --no-backup", async () => {
    await install("ada");
    await inHost(host, "echo nonsense > /home/ada/.hermes/state.db && chown ada /home/ada/.hermes/state.db");
    const tree = await treeOf(host);
    const refused = await agent("remove", "ada", "--yes");
    expect([refused.code, refused.stderr]).toEqual([16, expect.stringContaining("nothing was removed")]);
    expect(refused.stderr).toContain("clm agent remove ada --yes --no-backup");
    expect(await treeOf(host)).toBe(tree);
    expect(recordOf("ada")).toMatchObject({ status: "installed" });
    expect(readdirSync(join(home, "backups", "agents"))).toEqual([]);
    expect((await agent("remove", "ada", "--yes", "--no-backup")).code).toBe(0);
  });

  it("refuses when a memory file cannot be read", async () => {
    await install("ada");
    const memory = "/home/ada/.hermes/memories/MEMORY.md";
    await inHost(host, `echo dear > ${memory}; chown root:root ${memory}; chmod 600 ${memory}`);
    const tree = await treeOf(host);
    const refused = await agent("remove", "ada", "--yes");
    expect([refused.code, refused.stderr]).toEqual([16, expect.stringContaining(`${memory}: Permission denied`)]);
    expect(refused.stderr).toContain("nothing was removed");
    expect(refused.stderr).toContain("clm agent remove ada --yes --no-backup");
    expect(await treeOf(host)).toBe(tree);
    await inHost(host, "chown root:root /home/ada/.hermes/memories");
    expect((await agent("remove", "ada", "--yes")).stderr).toContain("/home/ada/.hermes/memories: Permission denied");
    expect(recordOf("ada")).toMatchObject({ status: "installed" });
  });

  it("asks to type the name", async () => {
    await install("ada");
    expect((await agent("remove", "ada")).code).toBe(6);
    const wrong = await onTerminal(["agent", "remove", "ada"], { home, answers: [[/Type ada/, "yes\r"]] });
    expect([wrong.code, wrong.screen]).toEqual([6, expect.stringContaining("did not remove trial-1:hermes:ada")]);
    expect(recordOf("ada")).toMatchObject({ status: "installed" });
    const right = await onTerminal(["agent", "remove", "ada"], { home, answers: [[/Type ada/, "ada\r"]] });
    expect(right.code).toBe(0);
    expect(recordOf("ada")).toBeUndefined();
  });

  it("an account that clm no longer owns stays, even with --force", async () => {
    await install("ada");
    await inHost(host, "usermod -c 'Ada L' ada");
    const tree = await treeOf(host);
    for (const words of [[], ["--force"]]) {
      const { code, stderr } = await agent("remove", "ada", "--yes", ...words);
      expect([code, stderr]).toEqual([5, expect.stringContaining("is not the one clm made")]);
    }
    expect(await treeOf(host)).toBe(tree);
    await inHost(host, `usermod -c 'clm agent ${recordOf("ada")?.mark}' ada`);
  });

  it("an adopted agent is removed only when its account is clearly an agent's", async () => {
    const accounts = await accountsOf(host);
    await install("ada");
    await recordAgent(hostStore(home), { host, name: "ada" }, (record) => {
      const { mark, ...adopted } = record as AgentRecord;
      return adopted;
    });
    const unit = "/etc/systemd/system/hermes-ada.service";
    await inHost(host, `usermod -s /bin/bash ada; sed -i.was 's/^User=.*/User=nobody/' ${unit}`);
    const tree = await treeOf(host);
    for (const words of [[], ["--force"]]) {
      const { code, stderr } = await agent("remove", "ada", "--yes", ...words);
      expect([code, stderr]).toEqual([5, expect.stringContaining("ada can log in (its shell is /bin/bash)")]);
      expect(stderr).toContain(`${unit} does not run as ada`);
      expect(stderr).toContain(`next: clm agent remove ${host}/ada --forget`);
    }
    expect(await treeOf(host)).toBe(tree);
    await inHost(host, `usermod -s /usr/sbin/nologin ada; mv ${unit}.was ${unit}`);
    expect((await agent("remove", "ada", "--yes")).code).toBe(0);
    expect(await accountsOf(host)).toBe(accounts);
  });

  it("killed in the middle, the same command completes it", async () => {
    const [tree, accounts] = [await treeOf(host), await accountsOf(host)];
    await install("ada");
    // A process that ignores SIGTERM makes the removal slow.
    await inHost(host, "systemd-run -q --unit trial-deaf --uid ada sh -c 'trap \"\" TERM; while :; do sleep 1; done'");
    const killed = await clm(["agent", "remove", "ada", "--yes"], {
      home,
      during: (child) => {
        void inHost(
          host,
          "for n in $(seq 300); do [ -e /etc/systemd/system/hermes-ada.service ] || exit 0; sleep 0.1; done; exit 1",
        ).then(() => child.kill("SIGKILL"));
      },
    });
    expect(killed.signal).toBe("SIGKILL");
    expect(recordOf("ada")).toMatchObject({ status: "removing" });
    expect((await agent("start", "ada", "--force")).code).toBe(8);
    const resumed = await agent("remove", "ada", "--yes", "-o", "json");
    const [backup = "", ...others] = readdirSync(join(home, "backups", "agents"));
    const path = join(home, "backups", "agents", backup);
    expect([resumed.code, others, resumed.stderr]).toEqual([
      0,
      [],
      expect.stringContaining(`its data is backed up in ${path} (`),
    ]);
    expect(JSON.parse(resumed.stdout)).toMatchObject({ state: "removed", status: "removed", backup: path });
    expect([await treeOf(host), await accountsOf(host)]).toEqual([tree, accounts]);
  });

  it("--force continues past what cannot be removed, and reports it", async () => {
    await install("ada");
    await inHost(
      host,
      "chattr +i /home/ada/.profile 2>/dev/null || mount --bind /home/ada/.hermes/memories /home/ada/.hermes/memories",
    );
    try {
      expect((await agent("remove", "ada", "--yes", "--no-backup")).code).toBe(16);
      expect(recordOf("ada")).toMatchObject({ status: "removing" });
      const { code, stderr } = await agent("remove", "ada", "--yes", "--no-backup", "--force");
      expect([code, stderr]).toEqual([0, expect.stringContaining(`left on ${host}: user ada`)]);
      expect(recordOf("ada")).toBeUndefined();
    } finally {
      await inHost(
        host,
        "chattr -i /home/ada/.profile 2>/dev/null; umount /home/ada/.hermes/memories 2>/dev/null; userdel -r ada 2>/dev/null; rm -rf /home/ada",
      );
    }
  });

  it("in a dry run only reports", async () => {
    await install("ada");
    const [tree, hosts] = [await treeOf(host), readFileSync(join(home, "hosts.json"), "utf8")];
    const { code, stderr } = await agent("remove", "ada", "--dry-run");
    expect([code, stderr]).toEqual([0, expect.stringContaining("would remove user ada with its home /home/ada\n")]);
    expect(stderr).toContain(`would back up the data of ada to ${home}/backups/agents`);
    const without = await agent("remove", "ada", "--dry-run", "--no-backup", "-o", "json");
    expect(without.stderr).toContain("would not back up the data of ada");
    expect(JSON.parse(without.stdout)).toMatchObject({ name: "ada", backed_up: false, backup: null, left: [] });
    expect([await treeOf(host), readFileSync(join(home, "hosts.json"), "utf8")]).toEqual([tree, hosts]);
  });
});
