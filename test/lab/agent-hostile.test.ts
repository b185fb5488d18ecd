import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { clm, inHost } from "./clm.js";
import { labFixture, withEcho } from "./fixture.js";
import { hostileAgent } from "./hostile-agent.js";

/** An agent that replaced its own programs, and a target for its handoffs. */
const host = "trial-1";
const [name, other] = ["mallory", "trent"];
const hostile = hostileAgent(host, name);
const target = hostileAgent(host, other);

const run = (...args: string[]) => clm(args, { home });

interface Row {
  state: string;
  reason: string | null;
  well: boolean;
  version: string | null;
  strays: { pid: number; command: string }[];
}

const ps = async (): Promise<Row | undefined> => {
  const { stdout } = await run("ps", name, "-o", "json");
  return (JSON.parse(stdout) as Row[])[0];
};

const lab = labFixture({
  agents: [name, other].map((each) => ({ host, name: each, configure: [...withEcho, "--yes"] })),
});
const { home } = lab;
beforeAll(async () => {
  await lab.must("chat", name, "--session", "talk-1", "--once", "hello");
  await lab.must("chat", other, "--session", "talk-2", "--once", "hello");
  await hostile.arm();
  await target.arm();
});
afterAll(async () => {
  for (const each of [hostile, target]) await each.disarm();
});
beforeEach(async () => {
  await hostile.forget();
  await target.forget();
});

describe("programs that an agent replaced", () => {
  it.each([
    ["ps", ["ps", name]],
    ["status", ["agent", "status", name]],
    ["doctor", ["agent", "doctor", name]],
    ["diff", ["agent", "diff", name]],
    ["sessions list", ["agent", "sessions", "list", name]],
    ["sessions show", ["agent", "sessions", "show", name, "talk-1"]],
    ["memory show", ["agent", "memory", "show", name]],
    ["handoff", ["handoff", name, other, "--session", "talk-1", "--yes"]],
    ["exec", ["agent", "exec", name, "--", `/home/${name}/.local/bin/hermes`, "--version"]],
    ["restart", ["agent", "restart", name]],
  ])("run only in its sandbox, and leave nothing behind: %s", async (_about, words) => {
    const { code, stderr } = await run(...words);
    // systemd-run exits with 1 when a leftover process did not end by itself.
    if (words[1] !== "exec") expect(code, stderr).toBe(0);
    for (const each of [hostile, target]) {
      const outside = (await each.runs()).filter(({ noNewPrivileges, realTmp }) => !noNewPrivileges || realTmp);
      expect(outside).toEqual([]);
      expect(await each.strays()).toEqual([]);
    }
  });

  it("are not needed to read its version", async () => {
    expect(await ps()).toMatchObject({ state: "running", version: "2026.7.1+standin" });
    expect(await hostile.runs()).toEqual([]);
  });
});

describe("a process of the agent's user outside its unit", () => {
  it("is reported by ps and status, with its pid", async () => {
    const pid = await hostile.escape();
    const row = await ps();
    expect(row).toMatchObject({ state: "degraded", well: false });
    expect(row?.strays).toEqual([{ pid, command: "sleep 7654321" }]);
    expect(row?.reason).toContain(`clm agent stop ${name} --strays`);
    const { stdout } = await run("agent", "status", name);
    expect(stdout).toContain(`${pid}`);
  });

  it("is not reported when clm itself started it", async () => {
    const exec = run("agent", "exec", name, "--", "sleep", "4");
    await inHost(host, `for n in $(seq 60); do pgrep -u ${name} -x sleep >/dev/null && exit; sleep 0.1; done; exit 1`);
    expect(await ps()).toMatchObject({ state: "running", strays: [] });
    await exec;
  });

  it("is reported by stop, makes the agent unhealthy, and is ended by --strays", async () => {
    const pid = await hostile.escape();
    const stopped = await run("agent", "stop", name, "-o", "json");
    expect([stopped.code, JSON.parse(stopped.stdout).strays]).toEqual([0, [{ pid, command: "sleep 7654321" }]]);
    expect(stopped.stderr).toContain(`clm agent stop ${name} --strays`);
    expect(await ps()).toMatchObject({ state: "stopped", well: false, strays: [{ pid }] });
    await lab.must("agent", "stop", name, "--strays", "--yes");
    expect(await hostile.strays()).toEqual([]);
    const after = await ps();
    expect([after?.state, after?.well, after?.strays]).toEqual(["stopped", true, []]);
    await lab.must("agent", "start", name);
  });
});

describe("a process that forks forever", () => {
  it("is ended by stop --strays", async () => {
    await hostile.forkChain();
    await lab.must("agent", "stop", name, "--strays", "--yes");
    expect(await hostile.strays()).toEqual([]);
    await lab.must("agent", "start", name);
  });

  it("does not block remove", async () => {
    await target.forkChain();
    await lab.must("agent", "remove", other, "--yes", "--no-backup");
    expect(await inHost(host, `getent passwd ${other} || ls -d /home/${other} 2>/dev/null || echo gone`)).toBe(
      "gone\n",
    );
  });
});
