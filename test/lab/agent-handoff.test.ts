import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { clm, inHost } from "./clm.js";
import { labFixture, withEcho } from "./fixture.js";

/** One agent of the oldest and one of the newest version, on two hosts. */
const old = { name: "olga", host: "trial-1", version: "2026.5.7+standin" };
const young = { name: "nils", host: "trial-2", version: "2026.7.1+standin" };
type Party = typeof old;
const both = [old, young];
const scratch = mkdtempSync(join(tmpdir(), "clm-handoff-"));

const run = (args: string[], env: NodeJS.ProcessEnv = {}) => clm(args, { home, env });
const chat = async (party: Party, id: string, text: string) =>
  (await lab.must("chat", party.name, "--session", id, "--once", text)).stdout.trim();
/** Runs a handoff and returns its JSON result. */
async function handed(from: Party, to: Party, ...more: string[]) {
  const { stdout } = await lab.must("handoff", from.name, to.name, "--yes", "-o", "json", ...more);
  return JSON.parse(stdout);
}

interface TranscriptMessage {
  role: string;
  content: unknown;
  tool_calls: unknown;
  tool_call_id: string | null;
  tool_name: string | null;
  timestamp: number;
}

/** A session as the agent exports it, message by message. 0.13 names a tool only in its call, not beside the result. */
async function messagesIn({ name }: Party, id: string): Promise<TranscriptMessage[]> {
  const { stdout } = await lab.must("agent", "sessions", "export", name, id);
  const rows: TranscriptMessage[] = JSON.parse(stdout).messages;
  const calls = rows.flatMap(({ tool_calls }) => (tool_calls ?? []) as { id: string; function: { name: string } }[]);
  const toolOf = (row: TranscriptMessage) => calls.find((call) => call.id === row.tool_call_id)?.function.name ?? null;
  return rows.map((row) => ({
    role: row.role,
    content: row.content || "",
    tool_calls: row.tool_calls ?? null,
    tool_call_id: row.tool_call_id,
    tool_name: row.tool_name ?? toolOf(row),
    timestamp: row.timestamp,
  }));
}

const idsOf = async ({ name }: Party): Promise<string[]> =>
  JSON.parse((await lab.must("agent", "sessions", "list", name, "--limit", "1000", "-o", "json")).stdout).map(
    (row: { id: string }) => row.id,
  );

/** Every byte that the agent stores of sessions, including the write-ahead log and free pages. */
const bytesHold = async ({ host, name }: Party, text: string) =>
  (
    await inHost(
      host,
      `cat /home/${name}/.hermes/state.db* /home/${name}/.hermes/sessions/* 2>/dev/null | grep -c -a -F '${text}' || true`,
    )
  ).trim() !== "0";

const query = ({ host, name }: Party, sql: string) =>
  inHost(
    host,
    `runuser -u ${name} -- /usr/bin/python3 -c 'import sqlite3,sys
db=sqlite3.connect("/home/${name}/.hermes/state.db")
print(db.execute(sys.argv[1]).fetchall()); db.commit()' "${sql}"`,
  );

/** A conversation with a tool in it. */
async function conversation(party: Party, id: string): Promise<string> {
  await chat(party, id, "the number is 4711");
  await chat(party, id, "use a tool");
  await chat(party, id, "größer 東京タワー");
  return id;
}

const lab = labFixture({ agents: both.map((each) => ({ ...each, configure: withEcho })) });
const { home } = lab;
afterAll(async () => {
  rmSync(scratch, { recursive: true });
});

describe.each([
  [old, young],
  [young, old],
])("from $version to another", (from, to) => {
  it("keeps every message of the transcript, and the target answers from it", async () => {
    const id = await conversation(from, `talk-${from.name}`);
    const meant = await messagesIn(from, id);
    const before = await query(from, `SELECT * FROM sessions WHERE id = '${id}'`);
    const chats = readFileSync(join(home, "chats.json"), "utf8");
    const { done, messages, tools } = await handed(from, to, "--session", id);
    expect(done).toMatchObject({ messages: meant.length, from: { session: id }, to: { session: done.id } });
    expect(done.id).toMatch(/^handoff-[0-9a-f]{12}$/);
    expect([messages, tools]).toMatchObject([{ user: 3, tool: 1, all: meant.length }, { terminal: 1 }]);
    expect(await messagesIn(to, done.id)).toEqual(meant);
    expect(await query(from, `SELECT * FROM sessions WHERE id = '${id}'`)).toBe(before);
    expect(readFileSync(join(home, "chats.json"), "utf8")).toBe(chats);
    // Three turns of the source and this one: the planted secret is gone.
    expect(await chat(to, done.id, "how many turns")).toBe("turns: 4");
    const { stdout } = await lab.must("audit", "--last", "1", "-o", "json");
    const [action] = JSON.parse(stdout);
    expect([action.verb, action.detail?.handoff]).toEqual(["handoff", done]);
    expect((await run(["handoff", "--list", "-o", "json"])).stdout.trim()).toBe("[]");
  });

  it("and back again, leaves the same transcript", async () => {
    const id = await conversation(from, `back-${from.name}`);
    const there = await handed(from, to, "--session", id);
    const back = await handed(to, from, "--session", there.done.id);
    expect(await messagesIn(from, back.done.id)).toEqual(await messagesIn(from, id));
    expect(back.done.hash).toBe(there.done.hash);
  });
});

describe("withheld content", () => {
  it("is shown first, and a dry run changes nothing", async () => {
    const id = await conversation(old, "dry");
    const ids = await idsOf(young);
    const { code, stdout, stderr } = await run(["handoff", old.name, young.name, "--session", id, "--dry-run"]);
    expect([code, stderr], stderr).toEqual([0, expect.stringContaining("would hand 8 messages")]);
    expect(stdout).toMatch(/^Messages: +8: 3 of the user, 4 of the assistant, 1 of tools$/m);
    expect(stdout).toMatch(/^Tool calls: +terminal 1$/m);
    expect(await idsOf(young)).toEqual(ids);
    const unasked = await run(["handoff", old.name, young.name, "--session", id]);
    expect([unasked.code, unasked.stderr]).toEqual([6, expect.stringContaining("--yes")]);
  });

  it("of a denied tool is nowhere on the target", async () => {
    const id = await conversation(old, "denied");
    const secret = "the-salary-of-ada-is-4711-0815";
    await query(
      old,
      `UPDATE messages SET content = 'first line\n${secret}' WHERE session_id = '${id}' AND role = 'tool'`,
    );
    await chat(old, id, `so it is ${secret}, is it`);
    const { done, taken } = await handed(old, young, "--session", id, "--deny-tool", "web,term*");
    expect(taken).toMatchObject({ outputs: 1 });
    const said = await messagesIn(young, done.id);
    expect(said.find(({ role }) => role === "tool")?.content).toBe("[the output of terminal was not handed over]");
    expect(await bytesHold(old, secret)).toBe(true);
    expect(await bytesHold(young, secret)).toBe(false);
  });

  it("can be secrets, tools, and all but the last turn", async () => {
    const id = await conversation(old, "bounded");
    const key = "sk-proj-0123456789abcdef0123456789";
    await chat(old, id, `my key is ${key}`);
    const { done } = await handed(old, young, "--session", id, "--redact", "--no-tools", "--only-last", "3");
    const said = await messagesIn(young, done.id);
    expect(said.map(({ role }) => role)).toEqual(["user", "assistant", "user", "assistant", "user", "assistant"]);
    expect(said.at(-2)?.content).toBe("my key is [secret]");
    expect(await bytesHold(young, key)).toBe(false);
  });
});

describe("a small context window", () => {
  const overlay = () => join(home, "models.yaml");
  afterAll(() => rmSync(overlay(), { force: true }));

  it("is refused, trimmed or summarised as asked", async () => {
    const id = await conversation(old, "small");
    for (let turn = 0; turn < 8; turn++) await chat(old, id, `turn ${turn}: ${"word ".repeat(20)}`);
    writeFileSync(overlay(), "models:\n  ollama:\n    echo-1: { context: 200 }\n");
    const ids = await idsOf(young);
    const refused = await run(["handoff", old.name, young.name, "--session", id, "--yes"]);
    expect([refused.code, refused.stderr]).toEqual([2, expect.stringMatching(/does not fit[\s\S]*--fit trim/)]);
    expect(await idsOf(young)).toEqual(ids);
    const trimmed = await handed(old, young, "--session", id, "--fit", "trim");
    const [first, noted, ...rest] = await messagesIn(young, trimmed.done.id);
    expect(first).toMatchObject({
      role: "user",
      content: expect.stringMatching(/^\[\d+ earlier messages .* left out/),
    });
    expect(noted).toMatchObject({ role: "assistant", content: "Noted." });
    expect(rest.length).toBeGreaterThan(1);
    expect(rest).toEqual((await messagesIn(old, id)).slice(-rest.length));
    writeFileSync(overlay(), "models:\n  ollama:\n    echo-1: { context: 400 }\n");
    const summed = await handed(old, young, "--session", id, "--fit", "summarise");
    const [summary] = await messagesIn(young, summed.done.id);
    expect(summary).toMatchObject({
      role: "user",
      content: expect.stringMatching(/^\[summary of \d+ earlier messages/),
    });
    expect((await idsOf(young)).filter((each) => each.includes("-summary-"))).toEqual([]);
  });

  it("of unknown size is taken for large, unless fitting was requested", async () => {
    rmSync(overlay(), { force: true });
    const id = await conversation(old, "unknown-window");
    const fitted = await run(["handoff", old.name, young.name, "--session", id, "--fit", "trim", "--yes"]);
    expect([fitted.code, fitted.stderr]).toEqual([2, expect.stringContaining("--context")]);
    const told = await run(["handoff", old.name, young.name, "--session", id, "--yes"]);
    expect([told.code, told.stderr], told.stderr).toEqual([0, expect.stringContaining("is unknown")]);
  });
});

describe("preconditions", () => {
  it("refuse a key that may not use both agents", async () => {
    const id = await conversation(old, "as");
    await lab.must("gateway", "key", "create", "--name", "half", "--agents", old.name, "--role", "chat");
    await lab.must("gateway", "key", "create", "--name", "reader", "--agents", "*", "--role", "read");
    await lab.must("gateway", "key", "create", "--name", "whole", "--agents", "*", "--role", "chat");
    for (const [key, why] of [
      ["half", young.name],
      ["reader", "role is read"],
      ["nobody", "no gateway key"],
    ] as const) {
      const { code, stderr } = await run(["handoff", old.name, young.name, "--session", id, "--as", key, "--yes"]);
      expect([code === 0, stderr]).toEqual([false, expect.stringContaining(why)]);
    }
    expect((await handed(old, young, "--session", id, "--as", "whole")).done.as).toMatch(/^[a-z0-9]{8}$/);
  });

  it("leave everything unchanged when the target is down or its model fails", async () => {
    const id = await conversation(old, "down");
    const ids = await idsOf(young);
    await inHost(young.host, `echo dead-upstream >/home/${young.name}/.hermes/.standin`);
    const failed = await run(["handoff", old.name, young.name, "--session", id, "--yes"]);
    await inHost(young.host, `: >/home/${young.name}/.hermes/.standin`);
    expect([failed.code, failed.stderr]).toEqual([
      16,
      expect.stringContaining("nothing of the conversation is left on the target"),
    ]);
    await lab.must("agent", "stop", young.name);
    const down = await run(["handoff", old.name, young.name, "--session", id, "--yes"]);
    await lab.must("agent", "start", young.name);
    expect([down.code, down.stderr]).toEqual([8, expect.stringContaining("is stopped")]);
    expect(await idsOf(young)).toEqual(ids);
  });

  it("allow closing the source once everything is proven", async () => {
    const id = await conversation(old, "closing");
    const { done } = await handed(old, young, "--session", id, "--close");
    expect(done.closed).toBe(true);
    expect(await query(old, `SELECT ended_at > 0, end_reason FROM sessions WHERE id = '${id}'`)).toContain(
      "(1, 'handed_over')",
    );
    expect(await messagesIn(young, done.id)).toEqual(await messagesIn(old, id));
  });
});

describe("killed or cut at any step, and run again", () => {
  const steps = resolve("test/faults/steps.cjs");
  const disturbed = (args: string[], env: Record<string, string>) =>
    run([...args, "--debug"], { NODE_OPTIONS: `--require ${steps}`, ...env });

  it("ends with one complete session", async () => {
    const id = await conversation(old, "killed");
    const meant = await messagesIn(old, id);
    const args = ["handoff", old.name, young.name, "--session", id, "--yes"];
    const list = join(scratch, "steps.json");
    const undisturbed = await disturbed(args, { CLM_STEPS_TO: list });
    expect(undisturbed, undisturbed.stderr).toMatchObject({ code: 0 });
    const count = JSON.parse(readFileSync(list, "utf8")).length;
    expect(count).toBeGreaterThan(10);
    const size = process.env.CLM_TEST_EXHAUSTIVE ? count : 8;
    const paths = Array.from({ length: size }, (_, at) => 1 + Math.floor(((at + 0.5) * count) / size));
    const failures: string[] = [];
    for (const [index, step] of paths.entries()) {
      const action = index % 2 === 0 ? "kill" : "cut";
      const before = await idsOf(young);
      const hit = await disturbed(args, { CLM_STEP: String(step), CLM_STEP_DO: action });
      const made = (await idsOf(young)).filter((each) => !before.includes(each));
      // A handoff that was complete when it was interrupted has nothing left to resume.
      const ended = made.length === 1 && (await run(["handoff", "--list", "-o", "json"])).stdout.trim() === "[]";
      const again = await run([...args, "-o", "json"]);
      const name = `${action} at step ${step} of ${count}`;
      if (again.code !== 0) {
        failures.push(`${name}: the rerun ended with ${again.code}: ${again.stderr}`);
        continue;
      }
      const { done } = JSON.parse(again.stdout);
      const added = (await idsOf(young)).filter((each) => !before.includes(each));
      if (hit.code === 0 && !ended) failures.push(`${name}: it ended well, and left ${made.join(", ") || "nothing"}`);
      if (added.length !== (ended ? 2 : 1) || !added.includes(done.id))
        failures.push(`${name}: added ${added.join(", ")}`);
      for (const each of added) {
        const said = await messagesIn(young, each);
        if (JSON.stringify(said) !== JSON.stringify(meant)) failures.push(`${name}: ${each} is not what was meant`);
      }
      const open = (await run(["handoff", "--list", "-o", "json"])).stdout.trim();
      if (open !== "[]") failures.push(`${name}: ${open} is open`);
    }
    expect(failures).toEqual([]);
    expect((await run(["audit", "--verify"])).code).toBe(0);
  }, 900_000);

  it("can be abandoned instead", async () => {
    const id = await conversation(old, "given-up");
    const args = ["handoff", old.name, young.name, "--session", id, "--yes"];
    const before = (await idsOf(young)).sort();
    // At this message the session is written; proving it takes longer than the signal takes to arrive.
    const killed = await clm(args, {
      home,
      during: (child) =>
        child.stderr?.on("data", (chunk) => {
          if (String(chunk).includes("prove that it read")) child.kill("SIGKILL");
        }),
    });
    expect(killed.signal, killed.stderr).toBe("SIGKILL");
    const open = JSON.parse((await run(["handoff", "--list", "-o", "json"])).stdout);
    expect(open).toMatchObject([{ from: { session: id }, stage: expect.stringMatching(/^(seeded|proven)$/) }]);
    expect(await idsOf(young)).toContain(open[0].id);
    await lab.must("handoff", "--abandon", open[0].id);
    expect(JSON.parse((await run(["handoff", "--list", "-o", "json"])).stdout)).toEqual([]);
    expect((await idsOf(young)).sort()).toEqual(before);
    // An interrupted turn may be stored long after; the next handoff removes it.
    const late = open[0].id;
    await query(young, `INSERT INTO sessions (id, source, started_at) VALUES ('${late}', 'api_server', 1)`);
    await query(
      young,
      `INSERT INTO messages (session_id, role, content, timestamp) VALUES ('${late}', 'user', 'late', 1)`,
    );
    const { done } = await handed(old, young, "--session", id);
    expect((await idsOf(young)).filter((each) => !before.includes(each))).toEqual([done.id]);
  });
});
