import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { unitOf } from "./agents.js";
import { clm, inHost } from "./clm.js";
import { labFixture } from "./fixture.js";

// Ports of an agent's processes that other machines could reach: configured on the loopback, and proven.

const host = "trial-2";

const lab = labFixture();
const { home } = lab;
beforeAll(async () => {
  await lab.addEcho();
});

const env = { HOOK_SECRET: "0123456789abcdef" };
const listening = async (port: number) =>
  (await inHost(host, `ss -Hltn sport = :${port} | awk '{ print $4 }'`)).trim().split("\n").sort().join(" ");

describe.each([
  ["0.13", "hana", "2026.5.7+standin"],
  ["0.18", "hugo", "2026.7.1+standin"],
])("an agent of %s with a webhook", (_, name, version) => {
  const configure = async (...words: string[]) => {
    const result = await clm(["agent", "configure", name, ...words, "-o", "json"], { home, env });
    return { ...result, told: result.stdout === "" ? undefined : JSON.parse(result.stdout) };
  };
  const row = async () => JSON.parse((await clm(["ps", name, "-o", "json"], { home })).stdout)[0];
  const proof = async () => {
    const { stdout } = await clm(["agent", "doctor", name, "-o", "json"], { home });
    return JSON.parse(stdout).find(({ id }: { id: string }) => id === "listeners");
  };
  const edited = (change: string) =>
    inHost(
      host,
      `sed -i '${change}' /home/${name}/.hermes/config.yaml && systemctl restart ${unitOf(name)}
for n in $(seq 100); do curl -sf -o /dev/null 127.0.0.1:8644/health && exit 0; sleep 0.1; done; exit 1`,
    );

  beforeAll(async () => {
    await lab.install(host, name, version);
    await lab.must("agent", "configure", name, "--provider", "echo");
  });
  afterAll(() => lab.remove(name));

  it("listens on the loopback, where `hermes webhook` finds it", async () => {
    const done = await configure("--channel", "webhook", "--secret", "webhook.secret=env:HOOK_SECRET");
    expect(done.code, done.stderr).toBe(0);
    expect(done.told.proofs).toContainEqual({
      id: "listeners",
      result: "ok",
      reason: "its processes listen on loopback only",
    });
    expect(await listening(8644)).toBe("127.0.0.1:8644");
    const { stdout } = await lab.must("agent", "exec", name, "--", "hermes", "webhook", "list");
    expect(stdout).toBe("No webhook subscriptions.\n");
    expect(await row()).toMatchObject({ state: "running" });
  });

  it("is reported as exposed by ps, doctor and validate after it was opened, and repaired by sync", async () => {
    await edited("/host:/ s/127.0.0.1/0.0.0.0/");
    expect(await listening(8644)).toBe("0.0.0.0:8644");
    const reason = "webhook listens on 0.0.0.0:8644: not only on loopback";
    expect(await row()).toMatchObject({ state: "exposed", reason });
    expect(await proof()).toMatchObject({ result: "fail", reason, fix: `clm agent configure ${name}` });
    const failed = await configure("--stage", "validate");
    expect(failed.code).not.toBe(0);
    expect(failed.told.proofs).toContainEqual({
      id: "listeners",
      result: "fail",
      reason,
      fix: `clm agent configure ${name}`,
    });
    await lab.must("agent", "sync", name, "--yes");
    expect(await listening(8644)).toBe("127.0.0.1:8644");
    expect(await row()).toMatchObject({ state: "running" });
  });

  it("may be opened on request, and is not reported then", async () => {
    const done = await configure("--set", "webhook.bind=0.0.0.0");
    expect(done.code, done.stderr).toBe(0);
    expect(await listening(8644)).toBe("0.0.0.0:8644");
    expect(await row()).toMatchObject({ state: "running" });
    expect(await proof()).toMatchObject({ result: "ok", reason: expect.stringContaining("as it was asked for") });
    const refused = await configure("--set", "webhook.bind=everywhere");
    expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining("an address of the host")]);
    expect((await configure("--set", "webhook.bind=127.0.0.1")).code).toBe(0);
    expect(await listening(8644)).toBe("127.0.0.1:8644");
  });

  it("is reported for a listener of its own child, but not of a foreign process", async () => {
    const group = `/sys/fs/cgroup/system.slice/${unitOf(name)}/cgroup.procs`;
    // The same program twice, once as a child of the agent.
    await inHost(
      host,
      `for port in 3100 3101; do
  systemd-run -q --unit open-$port -p User=${name} python3 -m http.server $port
done
for n in $(seq 100); do curl -s -o /dev/null 127.0.0.1:3100 && curl -s -o /dev/null 127.0.0.1:3101 && break; sleep 0.1; done
systemctl show -p MainPID --value open-3100 > ${group}`,
    );
    try {
      const seen = await row();
      expect(seen).toMatchObject({ state: "exposed" });
      expect(seen.reason).toMatch(/^its process \d+ \(python3\) listens on 0\.0\.0\.0:3100: not only on loopback$/);
    } finally {
      await inHost(host, "systemctl stop open-3101; systemctl stop open-3100; pkill -f '[h]ttp.server 3100'; true");
    }
    expect(await row()).toMatchObject({ state: "running" });
  });
});
