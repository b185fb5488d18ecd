import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeAll, beforeEach, describe, expect, it } from "vitest";
import { misbehave, unitOf } from "./agents.js";
import { type Call, clm, inHost } from "./clm.js";
import { labFixture } from "./fixture.js";

// Sessions continued in a channel: one agent of a version that supports it, one of a version that does not.

const host = "trial-1";
const data = "/home/ada/.hermes";
const channelId = "123456789012345678";

const lab = labFixture({
  agents: [
    { host, name: "ada" },
    { host, name: "old", version: "2026.5.7+standin" },
  ],
});
const { home } = lab;
beforeAll(async () => {
  for (const name of ["ada", "old"]) {
    const discord = ["--channel", "discord", "--no-test", "--secret", "discord.token=env:BOT"];
    const set = [`discord.allowed_users=${channelId}`, `discord.home_channel=${channelId}`].flatMap((each) => [
      "--set",
      each,
    ]);
    const words = ["agent", "configure", name, "--provider", "echo", ...discord, ...set];
    const { code, stderr } = await clm(words, { home, env: { BOT: `MTA.planted.${"x".repeat(50)}` } });
    expect(code, stderr).toBe(0);
  }
  await lab.must("chat", "ada", "--session", "tea", "--once", "the kettle is on");
});

const hand = (words: string[] = [], call: Partial<Call> = {}, channel = "discord") =>
  clm(["handoff", "ada", "--to-channel", channel, "--session", "tea", "--yes", ...words], { home, ...call });
/** Without a terminal and without --yes. */
const unasked = (...words: string[]) =>
  clm(["handoff", "ada", "--to-channel", "discord", "--session", "tea", ...words], { home });

const sql = (text: string) => {
  const code = `import json,sqlite3,sys
d=sqlite3.connect("${data}/state.db",timeout=10)
print(json.dumps(d.execute(sys.argv[1]).fetchall()))
d.commit()`;
  return inHost(host, `runuser -u ada -- /usr/bin/python3 -c '${code}' "${text}"`).then((out) => JSON.parse(out));
};
const row = async () =>
  (await sql("SELECT handoff_state, handoff_platform, handoff_error FROM sessions WHERE id = 'tea'"))[0];
const standing = (state: string) =>
  sql(
    `UPDATE sessions SET handoff_state = ${state}, handoff_platform = 'discord', handoff_error = NULL WHERE id = 'tea'`,
  );
/** The stand-in reads its switches with every request, without a restart. */
const switched = (words: string) => inHost(host, `echo '${words}' >${data}/.standin`);
/** Suspends the agent's process while `work` runs. */
const frozen = async (work: () => Promise<void>) => {
  await inHost(host, `systemctl kill -s STOP ${unitOf("ada")}`);
  await work().finally(() => inHost(host, `systemctl kill -s CONT ${unitOf("ada")}`));
};
const whenState = async (state: string): Promise<void> => {
  for (let tries = 0; tries < 100; tries++) if ((await row())[0] === state) return;
  throw new Error(`the request never was ${state}`);
};

beforeEach(async () => {
  await switched("");
  await standing("NULL");
});

describe("a session", () => {
  it("continues in a channel, and can be handed over again", async () => {
    const { code, stdout, stderr } = await hand(["-o", "json"]);
    expect(code, stderr).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ agent: "ada", session: "tea", channel: "discord", result: "handed" });
    expect(await row()).toEqual(["completed", "discord", null]);
    const bound = JSON.parse(await inHost(host, `cat ${data}/sessions/sessions.json`));
    const keys = Object.keys(bound).filter((each) => bound[each].session_id === "tea");
    expect(keys).toEqual([expect.stringMatching(`^agent:main:discord:thread:${channelId}:`)]);
    expect(await inHost(host, `cat ${data}/logs/gateway.log`)).toContain(`posted to ${channelId}`);
    const audit = await readFile(join(home, "audit.jsonl"), "utf8");
    expect(audit).toContain('"verb":"handoff"');

    const again = await hand(["-o", "json"]);
    expect(JSON.parse(again.stdout)).toMatchObject({ result: "already-there" });
    const restart = await hand(["-o", "json", "--reset"]);
    expect(JSON.parse(restart.stdout)).toMatchObject({ result: "handed" });
  });

  it("is the last used one when none is named", async () => {
    const { stdout } = await clm(["handoff", "ada", "--to-channel", "discord", "--yes", "-o", "json"], { home });
    expect(JSON.parse(stdout)).toMatchObject({ session: "tea", result: "handed" });
  });

  it("is not moved in a dry run, or before the user agreed that others may read it", async () => {
    expect(await unasked()).toMatchObject({ code: 6, stderr: expect.stringContaining("--yes") });
    expect((await row())[0]).toBeNull();
    expect(await hand(["--dry-run"])).toMatchObject({
      code: 0,
      stderr: expect.stringContaining("would hand session tea"),
    });
    expect((await row())[0]).toBeNull();
  });

  it.each<[string, string[], number, string]>([
    ["a channel that is none", ["ada", "--to-channel", "discrod"], 4, "did you mean 'discord'?"],
    ["a channel it has not", ["ada", "--to-channel", "telegram"], 8, "clm agent configure ada --channel telegram"],
    ["a session that is not there", ["ada", "--to-channel", "discord", "--session", "nope"], 4, "no session 'nope'"],
    ["a version that cannot", ["old", "--to-channel", "discord"], 17, "does not hand sessions to channels"],
  ])("is not handed to %s", async (_, words, exit, says) => {
    const { code, stderr } = await clm(["handoff", ...words], { home });
    expect([code, stderr]).toEqual([exit, expect.stringContaining(says)]);
  });

  it("reports the agent's own reason for a failure", async () => {
    await switched("handoff-fails the moon is full");
    const { code, stderr } = await hand();
    expect([code, stderr]).toEqual([16, expect.stringContaining("the moon is full")]);
    expect(await row()).toEqual(["failed", "discord", "the moon is full"]);
  });

  it("is not handed to a channel that the agent could not connect to", async () => {
    await misbehave(host, "ada", "channel-refused discord");
    try {
      const { code, stderr } = await hand();
      expect([code, stderr]).toEqual([16, expect.stringContaining("not active in this gateway")]);
      expect(stderr).toContain("clm agent doctor ada");
    } finally {
      await misbehave(host, "ada", "");
    }
  });
});

describe("a request", () => {
  it("that the agent left unfinished is reported, and reset on request", async () => {
    await switched("handoff-stuck");
    const reset = "clm handoff ada --to-channel discord --session tea --reset";
    const stuck = await hand(["--wait", "20"]);
    expect([stuck.code, stuck.stderr]).toEqual([18, expect.stringContaining(reset)]);
    expect((await row())[0]).toBe("running");
    await switched("");
    const blocked = await hand();
    expect([blocked.code, blocked.stderr]).toEqual([5, expect.stringContaining(reset)]);
    expect((await unasked("--reset")).code).toBe(6);
    expect((await row())[0]).toBe("running");
    const done = await hand(["--reset"]);
    expect(done.code, done.stderr).toBe(0);
    expect(await row()).toEqual(["completed", "discord", null]);
  });

  it("that is not picked up is withdrawn", async () => {
    await frozen(async () => {
      const { code, stderr } = await hand(["--wait", "2"]);
      expect([code, stderr]).toEqual([18, expect.stringContaining("withdrawn")]);
      expect(await row()).toEqual(["failed", "discord", "timed out waiting for gateway"]);
    });
  });

  it.each(["SIGINT", "SIGKILL"] as const)("is withdrawn when clm ends with %s", async (signal) => {
    await frozen(async () => {
      const result = await hand([], {
        during: (child) => void whenState("pending").then(() => child.kill(signal)),
      });
      expect(result).toMatchObject(signal === "SIGINT" ? { code: 130 } : { signal });
      await whenState("failed");
      expect(await row()).toEqual(["failed", "discord", "taken back"]);
    });
  });

  it("waits for an earlier one", async () => {
    await standing("'pending'");
    const { code, stderr } = await hand();
    expect(code, stderr).toBe(0);
  });

  it("is not made while the agent is down", async () => {
    const { must } = lab;
    await must("agent", "stop", "ada");
    try {
      const { code, stderr } = await hand();
      expect([code, stderr]).toEqual([8, expect.stringContaining("clm agent start ada")]);
      expect((await row())[0]).toBeNull();
    } finally {
      await must("agent", "start", "ada");
    }
  });
});
