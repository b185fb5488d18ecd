import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import { noteOf, planted, question } from "../../../../../src/agents/handoff/proof.js";
import type { ChangeReply, ChangeRequest } from "../../../../../src/agents/handoff/store.js";
import {
  canonical,
  countsOf,
  digestOf,
  hasArrived,
  type TranscriptMessage,
} from "../../../../../src/agents/handoff/transcript.js";
import { change, rowOf, sessionRow, transcriptFrom } from "../../../../../src/agents/hermes/handoff/handoff.js";
import { query as querySessions } from "../../../../../src/agents/hermes/sessions/sessions.js";
import { scratchDirectories } from "../../../state/scratch.js";

// The program itself, run by the very script that runs it on a host, on databases with the tables of each release.

const freshDirectory = scratchDirectories();
const python = execFileSync("python3", ["-c", "import sys; print(sys.executable)"], { encoding: "utf8" }).trim();
const releases = [13, 16, 18];
const made = new Map<number, Buffer>();
let data: string;
beforeEach(() => {
  data = freshDirectory();
});

/** A database of this release. Each is made once. */
function make(minor: number): void {
  const known = made.get(minor);
  if (known) {
    writeFileSync(join(data, "state.db"), known);
    mkdirSync(join(data, "sessions"));
  } else {
    execFileSync(python, ["test/unit/agents/hermes/handoff/make-db.py", data, String(minor)]);
    made.set(minor, readFileSync(join(data, "state.db")));
  }
}

const id = "handoff-0123456789ab";
const said: TranscriptMessage[] = [
  { role: "user", content: "see 東京 \u{1f600} \0 '; DROP TABLE messages; --", calls: [], at: 1767254400.5 },
  {
    role: "assistant",
    content: "",
    at: 1767254401,
    calls: [{ id: "c1", name: "terminal", arguments: '{"command": "ls \\ud800"}' }],
  },
  { role: "tool", content: "README.md", calls: [], answers: { id: "c1", tool: "terminal" }, at: 1767254402 },
  {
    role: "user",
    calls: [],
    at: 1767254403,
    content: [
      { type: "text", text: "this picture" },
      { type: "image_url", image_url: { url: "data:image/png;base64,AAAA" } },
    ],
  },
  { role: "assistant", content: "nice", calls: [], at: 1767254404 },
];
const note = noteOf("wolf-i:hermes:ada", "c0de");
const withNote = (some: TranscriptMessage[]) => [...some, ...planted(note, some, 1767254405)].map(rowOf);
const insert = (more: object = {}): ChangeRequest => ({
  verb: "insert-session",
  id,
  session: sessionRow(said, "Tea", "m-1"),
  messages: withNote(said),
  ...more,
});
const removeProof = (wait = false, moved = said): ChangeRequest => ({
  verb: "remove-proof",
  id,
  note,
  question,
  wait,
  counts: countsOf(moved),
});

function run(request: ChangeRequest, prelude = ""): { reply: ChangeReply | string; signal: string | null } {
  const { script, words, stdin } = change(request, { data, code: `${data}/code` });
  const [size, ...pythons] = words;
  const length = Number(size) + Buffer.byteLength(prelude);
  const { stdout, stderr, signal } = spawnSync("/bin/sh", ["-c", script, "handoff", String(length), ...pythons], {
    input: prelude + stdin,
    encoding: "utf8",
    env: { PATH: dirname(python), LC_ALL: "C" },
  });
  if (prelude === "") expect(stderr).toBe("");
  const [told = "", end] = stdout.trim().split("\n");
  if (told.startsWith("{")) expect(end).toBe('{"end": true}');
  return { reply: told.startsWith("{") ? JSON.parse(told) : told, signal };
}
const ask = (request: ChangeRequest) => run(request).reply as ChangeReply;

/** Reads the database directly. */
// biome-ignore lint/suspicious/noExplicitAny: rows
function query(sql: string): any[] {
  const code = `import json,sqlite3,sys
db=sqlite3.connect(sys.argv[1]); db.row_factory=sqlite3.Row
print(json.dumps([dict(row) for row in db.execute(sys.argv[2])])); db.commit()`;
  return JSON.parse(execFileSync(python, ["-c", code, join(data, "state.db"), sql], { encoding: "utf8" }));
}
const execute = (sql: string) => query(`${sql} RETURNING 1`);
const ids = () => query("SELECT id FROM sessions ORDER BY id").map((row) => row.id);
const say = (role: string, content: string, calls = "NULL", session = id) =>
  execute(
    `INSERT INTO messages (session_id, role, content, tool_calls, timestamp) VALUES ('${session}', '${role}', '${content}', ${calls}, 9e9)`,
  );
const turn = (text = "it is c0de") => {
  say("user", question);
  say("assistant", text);
};

describe.each(releases)("a database of Hermes 0.%d", (minor) => {
  it("takes a conversation, proves it, and keeps exactly that", () => {
    make(minor);
    expect(ask({ verb: "check-columns", id })).toEqual({ missing: [] });
    expect(ask(insert())).toEqual({ title: "Tea 2" });
    const [row] = query(`SELECT * FROM sessions WHERE id = '${id}'`);
    expect(row).toMatchObject({ source: "api_server", model: "m-1", title: "Tea 2", started_at: 1767254400.5 });
    expect(row).toMatchObject({ message_count: 5, tool_call_count: 1, system_prompt: null, ended_at: null });
    turn();
    execute(`UPDATE sessions SET message_count = 9, tool_call_count = 4 WHERE id = '${id}'`);
    const { messages = [], note_found: noteFound } = ask(removeProof(true));
    expect(noteFound).toBe(true);
    expect(canonical(transcriptFrom(messages))).toBe(canonical(said));
    expect(messages.map(({ timestamp }) => timestamp)).toEqual(said.map(({ at }) => at));
    expect(query(`SELECT message_count, tool_call_count FROM sessions WHERE id = '${id}'`)).toEqual([
      { message_count: 5, tool_call_count: 1 },
    ]);
    // Remaining messages are found by search, and removed ones are not.
    const found = (word: string) => query(`SELECT rowid FROM messages_fts WHERE messages_fts MATCH '"${word}"'`).length;
    expect([found("README"), found("handoff"), found("c0de"), found("hello")]).toEqual([1, 0, 0, 1]);
    expect(query("SELECT id FROM messages WHERE session_id = 'own'")).toHaveLength(2);
    // A second run changes nothing, even after new messages.
    execute(`INSERT INTO messages (session_id, role, content, timestamp) VALUES ('${id}', 'user', 'more', 9e9)`);
    const again = ask(removeProof());
    expect(again.note_found).toBe(false);
    const gone = transcriptFrom(again.messages ?? []);
    expect(gone).toHaveLength(6);
    const moved = { hash: digestOf(said), messages: said.length };
    expect([hasArrived(gone, moved), hasArrived(gone.slice(1), moved), hasArrived(gone.slice(0, 4), moved)]).toEqual([
      ...[true, false, false],
    ]);
  });

  it("keeps messages after the proof", () => {
    make(minor);
    ask(insert());
    say("user", question);
    say("assistant", "", `'[{"id":"p","type":"function","function":{"name":"read","arguments":"{}"}}]'`);
    say("tool", "no code in here");
    say("assistant", "c0de");
    say("user", "and now?");
    say("assistant", "", `'[{"id":"a","type":"function","function":{"name":"read","arguments":"{}"}}]'`);
    say("tool", "more");
    say("assistant", "this");
    // Who is in the middle of a turn is not waited for.
    say("user", "thanks");
    const { messages = [], note_found: noteFound, later } = ask(removeProof(true));
    expect([noteFound, later]).toEqual([true, 5]);
    const there = transcriptFrom(messages);
    expect(there.slice(said.length).map(({ content }) => content)).toEqual(["and now?", "", "more", "this", "thanks"]);
    expect(hasArrived(there, { hash: digestOf(said), messages: said.length })).toBe(true);
    expect(query(`SELECT message_count, tool_call_count FROM sessions WHERE id = '${id}'`)).toEqual([
      { message_count: 10, tool_call_count: 2 },
    ]);
  });

  it("keeps messages when the proof was never stored", () => {
    make(minor);
    ask(insert());
    say("user", "and now?");
    say("assistant", "this");
    expect(transcriptFrom(ask(removeProof()).messages ?? []).map(({ content }) => content)).toEqual([
      ...said.map(({ content }) => content),
      ...["and now?", "this"],
    ]);
  });

  it.each([4, 3])("takes a conversation that ends without an answer, behind message %d", (count) => {
    make(minor);
    const open = said.slice(0, count);
    ask(insert({ messages: withNote(open), session: sessionRow(open, "Tea", "m-1") }));
    turn();
    const roles = query(`SELECT role FROM messages WHERE session_id = '${id}' ORDER BY id`).map(({ role }) => role);
    expect(roles.slice(count)).toEqual(["assistant", "user", "assistant", "user", "assistant"]);
    const { messages = [] } = ask(removeProof(true, open));
    expect(canonical(transcriptFrom(messages))).toBe(canonical(open));
  });

  it("removes again what was written after its removal", () => {
    make(minor);
    const late = (name: string) => {
      execute(`INSERT INTO sessions (id, source, started_at) VALUES ('${name}', 'api_server', 1)`);
      say("user", "late", "NULL", name);
      writeFileSync(join(data, "sessions", `session_${name}.json`), "{}");
    };
    const removed = ["handoff-gone", "handoff-other-summary"];
    const left = () => query("SELECT DISTINCT session_id AS id FROM messages ORDER BY 1").map((row) => row.id);
    for (const request of [insert({ removed }), { ...removeProof(), removed } as ChangeRequest]) {
      for (const name of ["handoff-gone", "handoff-gone-summary-1", "handoff-other-summary-2"]) late(name);
      ask(request);
      expect([ids(), left(), readdirSync(join(data, "sessions"))]).toEqual([[id, "own"], [id, "own"], []]);
    }
  });

  it("is read by the program that reads sessions", () => {
    make(minor);
    ask(insert());
    ask(removeProof());
    const { script, words, stdin } = querySessions(
      { verb: "read", ids: [id], all: false },
      { data, code: `${data}/code` },
    );
    const { stdout } = spawnSync("/bin/sh", ["-c", script, "sessions", ...words], {
      input: stdin,
      encoding: "utf8",
      env: { PATH: dirname(python) },
    });
    expect(canonical(transcriptFrom(JSON.parse(stdout.split("\n")[0] ?? "").messages))).toBe(canonical(said));
  });

  it("deletes all of it and nothing else", () => {
    make(minor);
    ask(insert());
    turn();
    for (const [name, parent] of [
      [`${id}-summary-1`, "NULL"],
      ["folded", `'${id}'`],
      ["folded-again", "'folded'"],
      [`${id}x`, "NULL"],
    ])
      execute(
        `INSERT INTO sessions (id, source, started_at, parent_session_id) VALUES ('${name}', 'cli', 1, ${parent})`,
      );
    execute("INSERT INTO messages (session_id, role, content, timestamp) VALUES ('folded', 'user', 'x', 1)");
    for (const name of [`session_${id}.json`, "session_own.json"]) writeFileSync(join(data, "sessions", name), "{}");
    symlinkSync("/etc/passwd", join(data, "sessions", `session_${id}-x.json`));
    expect(ask({ verb: "delete-session", id })).toEqual({ deleted: 4 });
    expect(ids()).toEqual([`${id}x`, "own"]);
    expect(query("SELECT DISTINCT session_id FROM messages")).toEqual([{ session_id: "own" }]);
    expect(readdirSync(join(data, "sessions")).sort()).toEqual([`session_${id}-x.json`, "session_own.json"]);
    expect(ask({ verb: "delete-session", id })).toEqual({ deleted: 0 });
    // A later answer of the agent may go to a session that no longer exists.
    turn();
    expect(ask({ verb: "delete-session", id })).toEqual({ deleted: 1 });
    expect(query("SELECT DISTINCT session_id FROM messages")).toEqual([{ session_id: "own" }]);
  });

  it("closes a session that was not continued", () => {
    make(minor);
    expect(ask({ verb: "close-session", id: "own", last: 1, at: 7 })).toEqual({ closed: false });
    expect(ask({ verb: "close-session", id: "none", last: 1, at: 7 })).toEqual({ closed: false });
    const state = "SELECT ended_at, end_reason FROM sessions WHERE id = 'own'";
    expect(query(state)).toEqual([{ ended_at: null, end_reason: null }]);
    expect(ask({ verb: "close-session", id: "own", last: 2, at: 7 })).toEqual({ closed: true });
    expect(query(state)).toEqual([{ ended_at: 7, end_reason: "handed_over" }]);
    // A run that was cut short did that.
    expect(ask({ verb: "close-session", id: "own", last: 2, at: 8 })).toEqual({ closed: true, ended_before: false });
    expect(query(state)).toEqual([{ ended_at: 7, end_reason: "handed_over" }]);
  });

  it("keeps an ended session unchanged", () => {
    make(minor);
    execute("UPDATE sessions SET ended_at = 5, end_reason = 'cli_close' WHERE id = 'own'");
    expect(ask({ verb: "close-session", id: "own", last: 2, at: 7 })).toEqual({ closed: true, ended_before: true });
    expect(query("SELECT ended_at, end_reason FROM sessions WHERE id = 'own'")).toEqual([
      { ended_at: 5, end_reason: "cli_close" },
    ]);
  });
});

describe("killed", () => {
  // Ends the program at a statement as kill -9 does.
  const killing = (at: number) => `
import os, signal, sqlite3
class Mortal(sqlite3.Connection):
    count = 0
    def execute(self, sql, *more):
        Mortal.count += 1
        if Mortal.count == ${at}:
            os.kill(os.getpid(), signal.SIGKILL)
        return super().execute(sql, *more)
real = sqlite3.connect
sqlite3.connect = lambda *some, **more: real(*some, factory=Mortal, **more)
`;

  it.each<[string, () => ChangeRequest]>([
    ["insert-session", () => insert()],
    ["remove-proof", () => removeProof()],
    ["delete-session", () => ({ verb: "delete-session", id })],
  ])("anywhere in %s it leaves all or nothing", (verb, request) => {
    const state = () =>
      query(`SELECT (SELECT group_concat(id) FROM sessions) AS sessions, (SELECT count(*) FROM messages) AS messages,
        (SELECT group_concat(integrity_check) FROM pragma_integrity_check) AS well`);
    make(18);
    if (verb !== "insert-session") ask(insert());
    const bytes = readFileSync(join(data, "state.db"));
    const before = state();
    let statement = 1;
    for (; statement < 60; statement++) {
      data = freshDirectory();
      writeFileSync(join(data, "state.db"), bytes);
      const { reply } = run(request(), killing(statement));
      if (typeof reply !== "string") break;
      expect(state()).toEqual(before);
    }
    expect(statement).toBeGreaterThan(5);
    // The last round came to its end.
    expect(ids().includes(id)).toBe(verb !== "delete-session");
  });
});

describe("broken data", () => {
  it("no database, or none of sessions", () => {
    expect(ask(insert())).toEqual({ absent: true });
    expect(existsSync(join(data, "state.db"))).toBe(false);
    writeFileSync(join(data, "state.db"), "");
    expect(ask(insert())).toEqual({ absent: true });
    writeFileSync(join(data, "state.db"), "x".repeat(5000));
    expect(ask(insert())).toMatchObject({ fault: "unwritable" });
  });

  it("columns that are not there are left out", () => {
    make(0);
    expect(ask({ verb: "check-columns", id })).toEqual({ missing: [] });
    expect(ask(insert())).toEqual({ title: "Tea" });
    expect(query("SELECT count(*) AS n FROM messages WHERE session_id = 'handoff-0123456789ab'")).toEqual([{ n: 7 }]);
    expect(ask({ verb: "delete-session", id })).toEqual({ deleted: 1 });
    expect(ask({ verb: "close-session", id: "own", last: 2, at: 7 })).toEqual({ closed: true });
  });

  it("an id that is taken is not written to", () => {
    make(13);
    expect(ask(insert({ id: "own" }))).toMatchObject({ fault: "taken" });
    expect(query("SELECT count(*) AS n FROM messages")).toEqual([{ n: 2 }]);
  });

  it("a message that cannot be written takes all of them back", () => {
    make(16);
    expect(ask(insert({ messages: [...said.map(rowOf), { role: null, content: "x", timestamp: 1 }] }))).toMatchObject({
      fault: "unwritable",
    });
    expect(ids()).toEqual(["own"]);
  });

  it("an answer that is not written yet is waited for", () => {
    make(18);
    ask(insert());
    expect(ask(removeProof(true))).toEqual({ unanswered: true });
    turn();
    expect(ask(removeProof(true)).messages).toHaveLength(5);
    ask({ verb: "delete-session", id });
    expect(ask(removeProof(true))).toMatchObject({ fault: "gone" });
    // An agent that merged the question with the message before it stores only the answer.
    ask(insert());
    execute(`INSERT INTO messages (session_id, role, content, timestamp) VALUES ('${id}', 'assistant', 'c0de', 9e9)`);
    expect(ask(removeProof(true)).messages).toHaveLength(5);
  });

  it("titles are long, or have been taken often", () => {
    make(18);
    const titled = (title: string, more: string) =>
      ask(insert({ id: `${id}${more}`, session: sessionRow(said, title, undefined) })).title;
    expect(titled("x".repeat(200), "a")).toBe("x".repeat(100));
    expect(titled("x".repeat(200), "b")).toBe(`${"x".repeat(98)} 2`);
    expect([titled("  a\n b ", "c"), titled("", "d"), titled("", "e")]).toEqual(["a b", null, null]);
  });

  it("no Python", () => {
    mkdirSync(join(data, "code"), { recursive: true });
    const { script, words, stdin } = change(insert(), { data, code: `${data}/code` });
    const { stdout } = spawnSync("/bin/sh", ["-c", script, "handoff", ...words], {
      input: stdin,
      encoding: "utf8",
      env: { PATH: "/nonexistent" },
    });
    expect(stdout).toBe("no-python\n");
  });

  it("nothing of it is in the arguments", () => {
    const { script, words } = change(insert(), { data, code: "/c" });
    expect(`${script}${words.join(" ")}`).not.toContain("README.md");
    expect(readFileSync("src/agents/hermes/handoff/program.py", "utf8")).not.toContain("sys.argv");
  });
});
