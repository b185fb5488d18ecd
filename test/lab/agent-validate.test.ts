import { readFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { misbehave, pidOf, unitOf } from "./agents.js";
import { clm, inHost } from "./clm.js";
import { labFixture, withEcho } from "./fixture.js";

const host = "trial-2";
/** Two agents on one host, one of the oldest and one of the newest version. */
const names = { old: "vera", new: "vito" };
const versions = [
  ["0.13", names.old, "2026.5.7+standin"],
  ["0.18", names.new, "2026.7.1+standin"],
] as const;

const lab = labFixture({ agents: versions.map(([, name, version]) => ({ host, name, version, configure: withEcho })) });
const { home } = lab;

interface Proof {
  id: string;
  result: string;
  reason: string;
  fix?: string;
}

const validate = async (name: string) => {
  const { code, done, stderr } = await lab.configure(name, "--stage", "validate");
  expect(done, stderr).toBeDefined();
  const proofs: Proof[] = done.proofs;
  return { code, state: done.state, proofs, failed: proofs.filter(({ result }) => result === "fail") };
};

const stateOf = async (name: string) => JSON.parse((await lab.must("agent", "show", name, "-o", "json")).stdout).state;

/** For each switch of the stand-in: the first proof that fails, and its reason. */
const switches: [words: string, id: string | RegExp, reason: RegExp][] = [
  ["gate-open", "auth.no-key", /the API is open: .*no key returned 200/],
  ["port-taken", /^(port|unit|steady)$/, /another process on the host uses its port/],
  ["key-refused", "port", /nothing listens on port \d+; Hermes does not accept its API key/],
  ["dead-upstream", "chat", /API call failed after .*; the provider cannot be reached/],
  ["crash-loop", /^(unit|steady)$/, /restarted|auto-restart|failed/],
  ["bind-all", "port", /it listens on 0\.0\.0\.0:\d+, not only on loopback/],
  ["no-health", "health", /\/health returned 503/],
];

describe.each(versions)("validate of %s", (_about, name) => {
  it.each(switches)("%s fails with its own reason", async (words, id, reason) => {
    await misbehave(host, name, words);
    const { code, state, failed } = await validate(name);
    expect(code).toBe(1);
    expect(state).toBe("validate");
    expect(failed[0]?.id, JSON.stringify(failed)).toMatch(id);
    expect(failed[0]?.reason).toMatch(reason);
    for (const { fix } of failed) expect(fix).toMatch(/^clm /);
  });

  it("another version fails with its own reason, read from its files however slow its upstream is", async () => {
    const release = `/home/${name}/.hermes/code/hermes_cli/__init__.py`;
    await misbehave(host, name, "github-silent");
    await inHost(
      host,
      `rm -f /home/${name}/.hermes/.update_check; cp -p ${release} ${release}.own; sed -i 's/^__version__ = .*/__version__ = "0.99.0"/' ${release}`,
    );
    const { code, failed } = await validate(name);
    await inHost(host, `mv ${release}.own ${release}`);
    expect([code, failed.map(({ id }) => id)]).toEqual([1, ["version"]]);
    expect(failed[0]?.reason).toMatch(/it reports version 'Hermes Agent v0\.99\.0 \(.*, expected 'Hermes Agent v/);
    // It was not run: that would have written this file.
    expect(await inHost(host, `ls /home/${name}/.hermes/.update_check 2>/dev/null || echo none`)).toBe("none\n");
  });

  it("waits for a slow start, and is ready again", async () => {
    await misbehave(host, name, "slow-start 4");
    const { code, state, proofs } = await validate(name);
    expect([code, state]).toEqual([0, "ready"]);
    expect(proofs.map(({ result }) => result)).toEqual(proofs.map(() => "ok"));
  });
});

describe("the agent's private files", () => {
  const { old: name } = names;
  const paths = `/home/${name} /home/${name}/.hermes /home/${name}/.hermes/memories`;

  it("are checked by validate, and repaired by configure without a restart", async () => {
    await misbehave(host, name, "");
    // Hermes sets modes itself at its start, and does not start where it cannot.
    expect((await validate(name)).state).toBe("ready");
    await inHost(host, `chmod 0755 ${paths}; chown root: /home/${name}/.hermes/memories`);
    const pid = await pidOf(host, name);
    const { failed } = await validate(name);
    expect(failed.map(({ id }) => id)).toEqual(["files"]);
    expect(failed[0]?.reason).toBe(
      `/home/${name} has mode 0755 and should have 0700; /home/${name}/.hermes has mode 0755 and should have 0700; ` +
        `/home/${name}/.hermes/memories belongs to root`,
    );
    expect(failed[0]?.fix).toBe(`clm agent configure ${name}`);
    const { code, done } = await lab.configure(name);
    expect([code, done.state]).toEqual([0, "ready"]);
    expect(done.changes.map(({ what }: { what: string }) => what)).toEqual(
      paths.split(" ").map((path) => `directory ${path}`),
    );
    expect(await inHost(host, `stat -c '%a %U:%G' ${paths}`)).toBe(`700 ${name}:${name}\n`.repeat(3));
    expect(await pidOf(host, name)).toBe(pid);
  });

  it("are checked by validate in one exec, however often it repeats", async () => {
    await misbehave(host, name, "slow-start 3");
    const { code, stderr } = await clm(["agent", "configure", name, "--stage", "validate", "--debug"], { home });
    expect(code).toBe(0);
    expect(stderr.match(/Sending CHANNEL_REQUEST \(r:\d+, exec/g)).toHaveLength(1);
  });
});

describe("start", () => {
  const { new: name } = names;
  const isUp = () => inHost(host, `systemctl is-active ${unitOf(name)} || true`);

  beforeAll(async () => {
    await misbehave(host, name, "");
    expect((await validate(name)).state).toBe("ready");
    await misbehave(host, name, "gate-open");
    await inHost(host, `systemctl stop ${unitOf(name)}`);
  });

  it("of an unhealthy agent sets its stage back to validate, and reports what runs now", async () => {
    const { code, stderr } = await clm(["agent", "start", name], { home });
    expect(code).toBe(1);
    expect(stderr).toMatch(/was started but failed its proofs[\s\S]*auth\.no-key: the API is open/);
    expect(stderr).toContain(`next: clm agent configure ${name}`);
    expect([await stateOf(name), await isUp()]).toEqual(["validate", "active\n"]);
  });

  it("does not accept an agent without authentication, even with --force", async () => {
    await inHost(host, `systemctl stop ${unitOf(name)}`);
    const refused = await clm(["agent", "start", name], { home });
    expect(refused.stderr).toContain("onboarding incomplete (state=validate)");
    expect(await isUp()).toBe("inactive\n");
    const forced = await clm(["agent", "start", name, "--force"], { home });
    expect(forced.code).toBe(1);
    expect(forced.stderr).toMatch(/was started but failed its proofs[\s\S]*auth\.no-key: the API is open/);
    expect([await stateOf(name), await isUp()]).toEqual(["validate", "active\n"]);
  });

  it("with --force of a healthy agent that is not validated succeeds, and leaves it so", async () => {
    await misbehave(host, name, "");
    await inHost(host, `systemctl stop ${unitOf(name)}`);
    await lab.must("agent", "start", name, "--force");
    expect(await stateOf(name)).toBe("validate");
    expect((await validate(name)).state).toBe("ready");
  });
});

describe("two agents on one host", () => {
  it("have their own ports", async () => {
    const ports = await Promise.all(
      versions.map(async ([, name]) => JSON.parse((await lab.must("agent", "show", name, "-o", "json")).stdout).port),
    );
    expect(new Set(ports).size).toBe(2);
  });

  it("are not confused: a stopped one is not healthy because the other answers", async () => {
    await misbehave(host, names.old, "");
    await misbehave(host, names.new, "");
    await validate(names.old);
    await inHost(host, `systemctl stop ${unitOf(names.old)}`);
    const { code, state, failed, proofs } = await validate(names.old);
    expect(code).toBe(1);
    // It stays validated, and is started again.
    expect([state, await stateOf(names.old)]).toEqual(["ready", "ready"]);
    expect(failed.map(({ id }) => id)).toContain("unit");
    expect(failed[0]?.reason).toContain("is stopped");
    expect(proofs.find(({ id }) => id === "auth.own-key")?.result).toBe("skipped");
    expect((await validate(names.new)).code).toBe(0);
    await inHost(host, `systemctl start ${unitOf(names.old)}`);
  });

  it("have channels with their own ports", async () => {
    const secret = "webhook.secret=env:HOOK_SECRET";
    const hook = (name: string, ...words: string[]) =>
      clm(["agent", "configure", name, "--channel", "webhook", "--secret", secret, ...words], {
        home,
        env: { HOOK_SECRET: "0123456789abcdef" },
      });
    expect((await hook(names.old)).code).toBe(0);
    const [fleet, pid] = [readFileSync(join(home, "hosts.json"), "utf8"), await pidOf(host, names.new)];
    const refused = await hook(names.new);
    expect([refused.code, refused.stderr]).toEqual([5, expect.stringContaining("webhook.port cannot be 8644")]);
    expect(refused.stderr).toContain(`${names.old} has it on ${host}`);
    const [, next] = /next: clm .*(--set \S+)/.exec(refused.stderr) ?? [];
    expect(next).toBe("--set webhook.port=8647");

    await inHost(
      host,
      `systemd-run -q --unit hook-listen python3 -m http.server --bind 127.0.0.1 8647
for n in $(seq 50); do curl -s -o /dev/null 127.0.0.1:8647 && exit 0; sleep 0.1; done; exit 1`,
    );
    try {
      const taken = await hook(names.new, "--set", "webhook.port=8647");
      expect([taken.code, taken.stderr]).toEqual([5, expect.stringContaining("listens on port 8647")]);
      expect(taken.stderr).toContain("--set webhook.port=8648");
    } finally {
      await inHost(host, "systemctl stop hook-listen");
    }
    expect([readFileSync(join(home, "hosts.json"), "utf8"), await pidOf(host, names.new)]).toEqual([fleet, pid]);
    expect((await hook(names.new, "--set", "webhook.port=8647")).code).toBe(0);
    expect(await inHost(host, "ss -Hltn 'sport = :8644 or sport = :8647' | awk '{ print $4 }' | sort")).toBe(
      "127.0.0.1:8644\n127.0.0.1:8647\n",
    );
  });

  const squatters = {
    "somebody else's process": {
      user: "nobody",
      begin: "systemd-run --quiet --unit=squatter --uid=nobody",
      end: "systemctl stop squatter",
      log: () => "-u squatter",
    },
    // Its control group has the same end as the agent's.
    "a user's unit of the agent's name": {
      user: "clm",
      begin: `loginctl enable-linger clm
for n in $(seq 100); do [ -S /run/user/1000/bus ] && break; sleep 0.1; done
runuser -u clm -- env XDG_RUNTIME_DIR=/run/user/1000 systemd-run --quiet --user --unit=${unitOf(names.old)}`,
      end: "loginctl disable-linger clm; systemctl stop user@1000",
      log: () => `_SYSTEMD_USER_UNIT=${unitOf(names.old)}`,
    },
  };

  it.each(Object.entries(squatters))("%s on its port is reported, and gets no key", async (_, squatter) => {
    const { port } = JSON.parse((await lab.must("agent", "show", names.old, "-o", "json")).stdout);
    await inHost(
      host,
      `systemctl stop ${unitOf(names.old)}
${squatter.begin} python3 -m http.server --bind 127.0.0.1 ${port}
for n in $(seq 100); do curl -s -o /dev/null 127.0.0.1:${port} && exit 0; sleep 0.1; done; exit 1`,
    );
    try {
      const { failed, proofs } = await validate(names.old);
      const found = failed.find(({ id }) => id === "port");
      expect(found?.reason).toMatch(`another process has port ${port}: pid`);
      expect(found?.reason).toMatch(`user ${squatter.user}, python3`);
      expect(found?.fix).toBe(`clm agent configure ${names.old} --port auto`);
      expect(proofs.find(({ id }) => id === "auth.own-key")?.result).toBe("skipped");
      // The one request was this test's own curl.
      const asked = await inHost(host, `journalctl -q -o cat ${squatter.log()}`);
      expect(asked).not.toContain("/v1/models");
    } finally {
      await inHost(host, `${squatter.end}; systemctl start ${unitOf(names.old)}`);
    }
  });
});
