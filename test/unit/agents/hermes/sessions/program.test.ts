import { execFileSync, spawnSync } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import { messageFrom, query, sessionFrom } from "../../../../../src/agents/hermes/sessions/sessions.js";
import type { SessionQuery } from "../../../../../src/agents/sessions/sessions.js";
import { scratchDirectories } from "../../../state/scratch.js";

// The program itself, run by the very script that runs it on a host, on databases that SQLite made.

const freshDirectory = scratchDirectories();
let data: string;
beforeEach(() => {
  data = freshDirectory();
});

// What is called python3 may be a script that looks for it first, which takes ten times as long.
const python = execFileSync("python3", ["-c", "import sys; print(sys.executable)"], { encoding: "utf8" }).trim();

const made = new Map<string, { name: string; bytes: Buffer }[]>();

/** A database of this kind, where the agent has its own. Each is made once. */
function make(age: "old" | "new", how = "closed"): void {
  const known = made.get(age + how);
  for (const { name, bytes } of known ?? []) writeFileSync(join(data, name), bytes);
  if (known) return;
  execFileSync(python, ["test/unit/agents/hermes/sessions/make-db.py", join(data, "state.db"), age, how]);
  made.set(
    age + how,
    readdirSync(data).map((name) => ({ name, bytes: readFileSync(join(data, name)) })),
  );
}

// biome-ignore lint/suspicious/noExplicitAny: whatever it answers
function ask(question: SessionQuery, env: NodeJS.ProcessEnv = {}): any[] {
  const { script, words, stdin } = query(question, { data, code: `${data}/code` });
  const { stdout, stderr } = spawnSync("/bin/sh", ["-c", script, "sessions", ...words], {
    input: stdin,
    encoding: "utf8",
    env: { PATH: dirname(python), LC_ALL: "C", ...env },
  });
  expect(stderr).toBe("");
  return stdout
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => (line.startsWith("{") ? JSON.parse(line) : line));
}

const list = (more: object = {}): SessionQuery => ({ verb: "list", limit: 50, ...more });
const search = (text: string, more: object = {}): SessionQuery => ({ verb: "search", limit: 50, text, ...more });
const ids = (answers: { session?: { id: string } }[]) => answers.flatMap(({ session }) => session?.id ?? []);
const [tea, picture] = ["20260101_080000_aaaaaaaa", "20260101_090000_bbbbbbbb"];

describe.each(["old", "new"] as const)("a database of the %s kind", (age) => {
  it("lists the most recently used first, without long texts", () => {
    make(age);
    const answers = ask(list());
    expect(answers.at(-1)).toEqual({ end: true });
    expect(answers.slice(0, -1).map(({ session }) => sessionFrom(session))).toMatchObject([
      { id: tea, source: "cli", title: "Tea", model: "m-1", messages: 4, tokens: { input: 10, output: 5 } },
      { id: picture, source: "telegram", title: null, messages: 2 },
    ]);
    expect(sessionFrom(answers[0].session)).toMatchObject({
      started: "2026-01-01T08:00:00.000Z",
      lastActive: "2026-01-01T20:40:00.000Z",
    });
    expect(JSON.stringify(answers)).not.toContain("be kind");
  });

  it("gives the messages in order, without undone ones", () => {
    make(age);
    const [{ session, messages }, second] = ask({ verb: "read", ids: [], all: true });
    expect(session).toMatchObject({ id: tea, system_prompt: "be kind" });
    expect(messages.map(messageFrom)).toMatchObject([
      { role: "user", at: "2026-01-01T08:00:01.000Z" },
      { role: "assistant", text: "", calls: [{ name: "terminal", arguments: '{"command": "ls"}' }] },
      { role: "tool", tool: "terminal", text: "README.md" },
      { role: "assistant", text: "deployed; größer 東京タワー" },
    ]);
    expect(second.messages.map(messageFrom)).toMatchObject([{ text: "see\n[image_url]" }, { text: "\ufffd\0\ufffd" }]);
  });
});

describe("hidden parts of a session", () => {
  const execute = (sql: string) =>
    execFileSync(python, [
      ...["-c", "import sqlite3, sys; db = sqlite3.connect(sys.argv[1]); db.executescript(sys.argv[2]); db.close()"],
      ...[join(data, "state.db"), sql],
    ]);
  const texts = (rows: { content: unknown }[]) => rows.map(({ content }) => content);

  it("are shown on request: the parent session, and undone messages", () => {
    make("new");
    execute(`UPDATE sessions SET parent_session_id = '${tea}' WHERE id = '${picture}';
      UPDATE sessions SET parent_session_id = '${picture}' WHERE id = '${tea}'`);
    const whole = { verb: "read" as const, ids: [picture], all: false };
    expect(ask(whole)[0]).not.toHaveProperty("earlier");
    const [{ messages, earlier }] = ask({ ...whole, earlier: true });
    expect(texts(messages)).not.toContain("rewound");
    expect(texts(earlier)).toEqual([
      ...['deploy the invoice_100% "now" OR never', null, "README.md", "deployed; größer 東京タワー"],
      ...[expect.any(Array), "rewound", expect.any(String)],
    ]);
    expect(earlier[1].tool_calls[0].function.name).toBe("terminal");
  });

  it("are none without compaction", () => {
    make("old");
    expect(ask({ verb: "read", ids: [tea], all: false, earlier: true })[0].earlier).toEqual([]);
  });
});

describe("choosing", () => {
  it.each<[string, object, string[]]>([
    ["by source", { source: "telegram" }, [picture]],
    ["by time of use", { since: 1767290000 }, [tea]],
    ["by number", { limit: 1 }, [tea]],
    ["by a source there is none of", { source: "x' OR 1=1 --" }, []],
  ])("lists some, %s", (_, more, expected) => {
    make("new");
    expect(ids(ask(list(more)))).toEqual(expected);
  });

  it.each<[string, object]>([
    ["20260101_08", { session: { id: tea } }],
    [picture, { session: { id: picture } }],
    ["2026", { unknown: "2026", candidates: [tea, picture] }],
    ["nope", { unknown: "nope", candidates: [] }],
    ["%", { unknown: "%", candidates: [] }],
    ["ö'\"", { unknown: "ö'\"", candidates: [] }],
  ])("knows which session is meant by %s", (word, expected) => {
    make("new");
    expect(ask({ verb: "read", ids: [word], all: false })[0]).toMatchObject(expected);
  });

  it("gives nothing when one of several is unknown", () => {
    make("new");
    expect(ask({ verb: "read", ids: [tea, "nope"], all: false })).toEqual([
      { unknown: "nope", candidates: [] },
      { end: true },
    ]);
  });
});

const searches: [text: string, how: "closed" | "no-fts", count: number][] = [
  ["deploy", "closed", 2],
  ["deploy", "no-fts", 2],
  ["DEPLOYED", "closed", 1],
  ["now deploy", "closed", 1],
  ["now deploy", "no-fts", 1],
  ["OR", "closed", 1],
  ["NOT", "closed", 0],
  ['"', "closed", 2],
  ['" OR "', "closed", 1],
  ["deploy*", "closed", 2],
  ["deploy*", "no-fts", 0],
  ["content:deploy", "closed", 0],
  ["NEAR(a b", "closed", 0],
  ["100%", "closed", 1],
  ["100%", "no-fts", 1],
  ["100_", "no-fts", 0],
  ["%", "closed", 1],
  ["!", "no-fts", 0],
  ["nvoice", "closed", 1],
  ["größer", "closed", 1],
  ["東京", "closed", 1],
  ["\0deploy\0", "closed", 2],
  ["command", "closed", 1],
  ["rewound", "closed", 0],
];

describe("searching", () => {
  it.each(searches)("%j in a database that is %s: %d", (text, how, count) => {
    make("new", how);
    const answers = ask(search(text));
    expect(answers.at(-1)).toEqual({ end: true });
    expect(answers.filter(({ hit }) => hit)).toHaveLength(count);
    expect(answers).toHaveLength(count + 1);
  });

  it("shows the latest first, up to the limit", () => {
    make("new");
    expect(ask(search("deploy")).map(({ hit }) => hit?.role)).toEqual(["assistant", "user", undefined]);
    expect(ask(search("deploy", { limit: 1 }))).toHaveLength(2);
    expect(ask(search("deploy", { source: "telegram" }))).toHaveLength(1);
    expect(ask(search("deploy", { since: 1767290000 }))).toHaveLength(2);
  });
});

describe("nothing is written", () => {
  const files = () => readdirSync(data).sort();
  const bytes = () => files().map((name) => readFileSync(join(data, name)).toString("base64"));

  it("while the database is closed", () => {
    make("new");
    const before = bytes();
    expect(ids(ask(list()))).toHaveLength(2);
    expect(files()).toEqual(["state.db"]);
    expect(bytes()).toEqual(before);
  });

  it("while it is open or after a kill, with the write-ahead log read too", () => {
    make("new", "crashed");
    expect(files()).toEqual(["state.db", "state.db-shm", "state.db-wal"]);
    const [db, , wal] = bytes();
    expect(ids(ask(list()))).toHaveLength(2);
    expect(files()).toEqual(["state.db", "state.db-shm", "state.db-wal"]);
    expect([bytes()[0], bytes()[2]]).toEqual([db, wal]);
  });

  it("when that could not be had without", () => {
    make("new", "crashed");
    rmSync(join(data, "state.db-shm"));
    expect(ask(list())).toMatchObject([{ fault: "missing-shm" }, { end: true }]);
    expect(files()).toEqual(["state.db", "state.db-wal"]);
  });
});

describe("the session of a proof", () => {
  const id = "clm-proof-0011223344556677";

  it.each(["old", "new"] as const)("is in no list, search or export of the %s kind, but shown by its id", (age) => {
    make(age, "proof");
    const all: SessionQuery = { verb: "read", ids: [], all: true };
    expect(ids(ask(list()))).toEqual([tea, picture]);
    expect(ids(ask(all))).toEqual([tea, picture]);
    expect(ask(search("deploy")).filter(({ hit }) => hit?.session_id === id)).toEqual([]);
    expect(ids(ask({ verb: "read", ids: [id], all: false }))).toEqual([id]);
  });
});

describe("a file that is no session database", () => {
  it.each<[string, () => unknown, object]>([
    ["missing", () => {}, { absent: true }],
    ["empty", () => writeFileSync(join(data, "state.db"), ""), { absent: true }],
    ["something else", () => writeFileSync(join(data, "state.db"), "x".repeat(5000)), { fault: "unreadable" }],
    ["a directory", () => mkdirSync(join(data, "state.db")), { fault: "unreadable" }],
  ])("%s", (_, prepare, expected) => {
    prepare();
    expect(ask(list())).toMatchObject([expected, { end: true }]);
  });

  it("may have any name", () => {
    data = join(data, "a %20 ?mode=rwc#x 'y'");
    mkdirSync(data);
    make("new");
    expect(ids(ask(list()))).toHaveLength(2);
  });
});

describe("the Python that reads it", () => {
  it("is the agent's own where the host has none", () => {
    make("new");
    const bin = join(data, "code", "venv", "bin");
    mkdirSync(bin, { recursive: true });
    writeFileSync(join(bin, "python3"), `#!/bin/sh\nexec ${python} "$@"\n`, { mode: 0o755 });
    expect(ids(ask(list(), { PATH: "/nonexistent" }))).toHaveLength(2);
  });

  it("is reported when it is missing", () => {
    expect(ask(list(), { PATH: "/nonexistent" })).toEqual(["no-python"]);
  });
});
