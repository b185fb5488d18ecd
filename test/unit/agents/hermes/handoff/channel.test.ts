import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { beforeEach, describe, expect, it } from "vitest";
import type { ChannelReply, ChannelRequest } from "../../../../../src/agents/handoff/store.js";
import { toChannel } from "../../../../../src/agents/hermes/handoff/handoff.js";
import { scratchDirectories } from "../../../state/scratch.js";

// The program itself, run by the very script that runs it on a host. The gateway is a trigger in the database: it answers at
// once, and always the same.

const freshDirectory = scratchDirectories();
let data: string;
beforeEach(() => {
  data = freshDirectory();
});

const python = execFileSync("python3", ["-c", "import sys; print(sys.executable)"], { encoding: "utf8" }).trim();

function make(after = "", age: "old" | "new" = "new"): void {
  execFileSync(python, ["test/unit/agents/hermes/handoff/make-channel-db.py", join(data, "state.db"), age, after]);
}

const gateway = (does: string): string =>
  `CREATE TRIGGER gateway AFTER UPDATE OF handoff_state ON sessions WHEN new.handoff_state = 'pending' BEGIN
     UPDATE sessions SET ${does} WHERE id = new.id; END;`;

const handoffState = (state: string, platform: string | null = "discord"): string =>
  `UPDATE sessions SET handoff_state = '${state}', handoff_platform = ${platform ? `'${platform}'` : "NULL"} WHERE id = 'tea-1';`;

/** Its answer; the wait ends at a line that matches `until`, after `before` ran. */
async function ask(
  request: ChannelRequest,
  until?: Partial<ChannelReply>,
  before = async () => {},
): Promise<ChannelReply[]> {
  const { script, words, stdin } = toChannel(request, { data, code: `${data}/code` });
  const child = spawn("/bin/sh", ["-c", script, "handoff", ...words], {
    env: { PATH: `${dirname(python)}:/usr/bin:/bin`, LC_ALL: "C" },
    stdio: ["pipe", "pipe", "inherit"],
  });
  child.stdin.write(stdin);
  const answers: ChannelReply[] = [];
  for await (const line of createInterface(child.stdout)) {
    const said: ChannelReply = JSON.parse(line);
    answers.push(said);
    if (!until || child.stdin.writableEnded) continue;
    if (!Object.entries(until).every(([name, value]) => said[name as keyof ChannelReply] === value)) continue;
    await before();
    child.stdin.end();
  }
  child.stdin.end();
  expect(answers.pop()).toEqual({ end: true });
  return answers;
}

const showSession = (session?: string, exclude: string[] = []) =>
  ask({ verb: "show-session", ...(session && { session }), exclude });
const requestHandoff = (
  more: { reset?: boolean; wait?: number } = {},
  until?: Partial<ChannelReply>,
  before?: () => Promise<void>,
) =>
  ask(
    { verb: "request-handoff", session: "tea-1", platform: "discord", reset: false, wait: 60, ...more },
    until,
    before,
  );

function row(): unknown[] {
  const code = `import json, sqlite3, sys
row = sqlite3.connect(sys.argv[1]).execute("SELECT handoff_state, handoff_platform, handoff_error FROM sessions WHERE id = 'tea-1'")
print(json.dumps(row.fetchone()))`;
  return JSON.parse(execFileSync(python, ["-c", code, join(data, "state.db")], { encoding: "utf8" }));
}

describe("the session to hand over", () => {
  it("finds the session that was used last", async () => {
    make();
    expect(await showSession()).toEqual([
      {
        session: {
          id: "tea-1",
          title: "Tea",
          source: "cli",
          messages: 2,
          state: null,
          platform: null,
          error: null,
        },
      },
    ]);
  });

  it("takes none for it that a handoff left half made", async () => {
    make();
    expect(await showSession(undefined, ["tea-1"])).toMatchObject([{ session: { id: "tea-2" } }]);
    expect(await showSession(undefined, ["tea"])).toEqual([{ absent: true }]);
  });

  it.each<[string, string, unknown]>([
    ["its id", "tea-2", { session: { id: "tea-2" } }],
    ["how several begin", "tea", { unknown: "tea", candidates: ["tea-1", "tea-2"] }],
    ["one that is not there", "coffee", { unknown: "coffee", candidates: [] }],
    ["what is no name but SQL", "' OR 1 --", { unknown: "' OR 1 --", candidates: [] }],
  ])("by %s", async (_, word, said) => {
    make();
    expect(await showSession(word)).toMatchObject([said]);
  });

  it("reports a missing or empty database", async () => {
    expect(await showSession()).toEqual([{ absent: true }]);
    writeFileSync(join(data, "state.db"), "");
    expect(await showSession()).toEqual([{ absent: true }]);
  });

  it("reports a database of an older version", async () => {
    make("", "old");
    expect(await showSession()).toMatchObject([{ fault: "too-old" }]);
  });

  it("reports a file that is no database", async () => {
    writeFileSync(join(data, "state.db"), "this is no database, and was never one".repeat(100));
    expect(await showSession()).toMatchObject([
      { fault: "unreadable", why: expect.stringContaining("not a database") },
    ]);
  });
});

describe("a request", () => {
  it("is made, and ends when the gateway has done it", async () => {
    make(gateway("handoff_state = 'completed'"));
    expect(await requestHandoff()).toEqual([{ state: "pending" }, { outcome: "completed", error: null }]);
    expect(row()).toEqual(["completed", "discord", null]);
  });

  it("ends with the gateway's own message when that fails", async () => {
    make(gateway("handoff_state = 'failed', handoff_error = 'no home channel configured for discord'"));
    expect((await requestHandoff()).at(-1)).toEqual({
      outcome: "failed",
      error: "no home channel configured for discord",
    });
  });

  it.each(["completed", "failed"])("replaces one that is %s", async (state) => {
    make(handoffState(state, "slack") + gateway("handoff_state = 'completed'"));
    expect((await requestHandoff()).at(-1)).toMatchObject({ outcome: "completed" });
    expect(row()).toEqual(["completed", "discord", null]);
  });

  it("is withdrawn when it is not picked up", async () => {
    make();
    expect(await requestHandoff({ wait: 0.1 })).toEqual([{ state: "pending" }, { outcome: "timed-out" }]);
    expect(row()).toEqual(["failed", "discord", "timed out waiting for gateway"]);
  });

  it("is withdrawn when the caller leaves", async () => {
    make();
    expect(await requestHandoff({}, { state: "pending" })).toEqual([{ state: "pending" }, { outcome: "withdrawn" }]);
    expect(row()).toEqual(["failed", "discord", "taken back"]);
  });

  it("is kept when the gateway has started it", async () => {
    make(gateway("handoff_state = 'running'"));
    expect(await requestHandoff({ wait: 0.1 })).toEqual([
      { state: "pending" },
      { state: "running" },
      { outcome: "stuck" },
    ]);
    expect(row()).toEqual(["running", "discord", null]);
  });

  it("is kept then even if the caller leaves", async () => {
    make(gateway("handoff_state = 'running'"));
    expect((await requestHandoff({}, { state: "running" })).at(-1)).toEqual({ outcome: "left-running" });
    expect(row()).toEqual(["running", "discord", null]);
  });

  it("is not confused with another request", async () => {
    make(gateway("handoff_platform = 'slack'"));
    expect((await requestHandoff()).at(-1)).toEqual({ outcome: "replaced", state: "pending", platform: "slack" });
    expect(row()).toEqual(["pending", "slack", null]);
  });
});

describe("a database that is in use", () => {
  /** Locks the database, prints so, acts on request, and unlocks. */
  async function holding(): Promise<(sql: string) => Promise<void>> {
    const code = `import sqlite3, sys
db = sqlite3.connect(sys.argv[1], isolation_level=None, timeout=30)
db.execute("BEGIN EXCLUSIVE"); print("held", flush=True)
db.execute(sys.stdin.readline()); db.execute("COMMIT")`;
    const child = spawn(python, ["-c", code, join(data, "state.db")], { stdio: ["pipe", "pipe", "inherit"] });
    const over = once(child, "exit");
    await once(child.stdout, "data");
    return async (sql) => {
      child.stdin.end(`${sql}\n`);
      expect(await over).toEqual([0, null]);
    };
  }

  it("is asked again until it is free", async () => {
    make();
    let done: Promise<void> | undefined;
    const said = await requestHandoff({}, { state: "pending" }, async () => {
      const release = await holding();
      // Longer than it waits for the lock at once.
      done = new Promise((resolve) => setTimeout(resolve, 1200)).then(() =>
        release("UPDATE sessions SET handoff_state = 'completed' WHERE id = 'tea-1'"),
      );
    });
    await done;
    expect(said).toEqual([{ state: "pending" }, { outcome: "completed", error: null }]);
  });

  it("to the end is reported, with the last observed state", async () => {
    make();
    let release: ((sql: string) => Promise<void>) | undefined;
    const said = await requestHandoff({}, { state: "pending" }, async () => {
      release = await holding();
    });
    await release?.("SELECT 1");
    expect(said.at(-1)).toEqual({ outcome: "database-locked", state: "pending", error: "database is locked" });
    expect(row()).toEqual(["pending", "discord", null]);
  }, 30_000);
});

describe("an existing request", () => {
  const joined = { state: "pending", joined: true };

  it("is waited for when it is the same, and never withdrawn", async () => {
    make(handoffState("pending"));
    expect(await requestHandoff({ wait: 0.1 })).toEqual([joined, { outcome: "left-pending" }]);
    expect(await requestHandoff({}, joined)).toEqual([joined, { outcome: "left-pending" }]);
    expect(row()).toEqual(["pending", "discord", null]);
  });

  it.each<[string, string, boolean]>([
    ["pending", "slack", false],
    ["pending", "slack", true],
    ["running", "discord", false],
    ["running", "slack", false],
  ])("%s for %s is not touched (reset: %s)", async (state, platform, reset) => {
    make(handoffState(state, platform));
    expect(await requestHandoff({ reset })).toEqual([{ busy: state, platform }]);
    expect(row()).toEqual([state, platform, null]);
  });

  it.each(["discord", "slack", null])("running for %s is given up by a reset", async (platform) => {
    make(handoffState("running", platform) + gateway("handoff_state = 'completed'"));
    expect((await requestHandoff({ reset: true })).at(-1)).toMatchObject({ outcome: "completed" });
    expect(row()).toEqual(["completed", "discord", null]);
  });
});
