import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { agentsIn, misbehave, unitOf } from "./agents.js";
import { copyOfHome, inHost } from "./clm.js";

const shared = inject("fleetHome");
let home: string;
let removeHome: () => Promise<void>;
let agents: ReturnType<typeof agentsIn>;

const host = "trial-2";
/** Both on one host, one of each generation. */
const names = { old: "vera", new: "vito" };
const versions = [
  ["0.13", names.old, "2026.5.7+standin"],
  ["0.18", names.new, "2026.7.1+standin"],
] as const;

beforeAll(async () => {
  ({ home, remove: removeHome } = await copyOfHome(shared));
  agents = agentsIn(home);
  await agents.addEcho();
  for (const [, name, version] of versions) {
    await agents.install(host, name, version);
    await agents.must("agent", "configure", name, "--provider", "echo");
  }
});
afterAll(async () => {
  for (const [, name] of versions) await agents.remove(name);
  await removeHome();
});

interface Proof {
  id: string;
  result: string;
  reason: string;
  fix?: string;
}

const validate = async (name: string) => {
  const { code, done, stderr } = await agents.configure(name, "--stage", "validate");
  expect(done, stderr).toBeDefined();
  const proofs: Proof[] = done.proofs;
  return { code, state: done.state, proofs, failed: proofs.filter(({ result }) => result === "fail") };
};

/** What each switch of the stand-in must be told as: the first proof that fails, and why. */
const switches: [words: string, id: string | RegExp, reason: RegExp][] = [
  ["gate-open", "gate.none", /the API is open: .*no key gave 200/],
  ["port-taken", /^(port|unit|steady)$/, /something else on the host holds its port/],
  ["key-refused", "port", /nothing listens on port \d+; Hermes does not take its API key/],
  ["dead-upstream", "chat", /API call failed after .*; the provider cannot be reached/],
  ["crash-loop", /^(unit|steady)$/, /restarted|auto-restart|failed/],
  ["bind-all", "port", /it listens on 0\.0\.0\.0:\d+, not only on loopback/],
  ["no-health", "health", /\/health gave 503/],
  ["wrong-version", "version", /and should say 'Hermes Agent v/],
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

  it("waits for one that is slow to start, and is ready again", async () => {
    await misbehave(host, name, "slow-start 4");
    const { code, state, proofs } = await validate(name);
    expect([code, state]).toEqual([0, "ready"]);
    expect(proofs.map(({ result }) => result)).toEqual(proofs.map(() => "ok"));
  });
});

describe("two agents on one host", () => {
  it("have ports of their own", async () => {
    const ports = await Promise.all(
      versions.map(
        async ([, name]) => JSON.parse((await agents.must("agent", "show", name, "-o", "json")).stdout).port,
      ),
    );
    expect(new Set(ports).size).toBe(2);
  });

  it("a stopped one is never taken for healthy because the other answers", async () => {
    await misbehave(host, names.old, "");
    await misbehave(host, names.new, "");
    await inHost(host, `systemctl stop ${unitOf(names.old)}`);
    const { code, failed, proofs } = await validate(names.old);
    expect(code).toBe(1);
    expect(failed.map(({ id }) => id)).toContain("unit");
    expect(failed[0]?.reason).toContain("is stopped");
    expect(proofs.find(({ id }) => id === "gate.own")?.result).toBe("skipped");
    expect((await validate(names.new)).code).toBe(0);
    await inHost(host, `systemctl start ${unitOf(names.old)}`);
  });

  const squatters = {
    "somebody else's process": {
      user: "nobody",
      begin: "systemd-run --quiet --unit=squatter --uid=nobody",
      end: "systemctl stop squatter",
      log: () => "-u squatter",
    },
    // Its control group ends as the agent's own does.
    "a user's unit of the agent's name": {
      user: "clm",
      begin: `loginctl enable-linger clm
for n in $(seq 100); do [ -S /run/user/1000/bus ] && break; sleep 0.1; done
runuser -u clm -- env XDG_RUNTIME_DIR=/run/user/1000 systemd-run --quiet --user --unit=${unitOf(names.old)}`,
      end: "loginctl disable-linger clm; systemctl stop user@1000",
      log: () => `_SYSTEMD_USER_UNIT=${unitOf(names.old)}`,
    },
  };

  it.each(Object.entries(squatters))("%s on its port is named, and gets no key", async (_, squatter) => {
    const { port } = JSON.parse((await agents.must("agent", "show", names.old, "-o", "json")).stdout);
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
      expect(proofs.find(({ id }) => id === "gate.own")?.result).toBe("skipped");
      // What asked it was curl of this test, once.
      const asked = await inHost(host, `journalctl -q -o cat ${squatter.log()}`);
      expect(asked).not.toContain("/v1/models");
    } finally {
      await inHost(host, `${squatter.end}; systemctl start ${unitOf(names.old)}`);
    }
  });
});
