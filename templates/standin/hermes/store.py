"""`state.db`: every session and message, in the tables and columns of this release."""

import json
import sqlite3
import time
from contextlib import contextmanager

from hermes_cli.settings import home, since

SESSION = """id TEXT PRIMARY KEY, source TEXT NOT NULL, user_id TEXT, model TEXT, model_config TEXT, system_prompt TEXT,
parent_session_id TEXT, started_at REAL NOT NULL, ended_at REAL, end_reason TEXT, message_count INTEGER DEFAULT 0,
tool_call_count INTEGER DEFAULT 0, input_tokens INTEGER DEFAULT 0, output_tokens INTEGER DEFAULT 0,
cache_read_tokens INTEGER DEFAULT 0, cache_write_tokens INTEGER DEFAULT 0, reasoning_tokens INTEGER DEFAULT 0,
billing_provider TEXT, billing_base_url TEXT, billing_mode TEXT, estimated_cost_usd REAL, actual_cost_usd REAL,
cost_status TEXT, cost_source TEXT, pricing_version TEXT, title TEXT, api_call_count INTEGER DEFAULT 0"""

MESSAGE = """id INTEGER PRIMARY KEY AUTOINCREMENT, session_id TEXT NOT NULL REFERENCES sessions(id), role TEXT NOT NULL,
content TEXT, tool_call_id TEXT, tool_calls TEXT, tool_name TEXT, timestamp REAL NOT NULL, token_count INTEGER,
finish_reason TEXT, reasoning TEXT, reasoning_content TEXT, reasoning_details TEXT, codex_reasoning_items TEXT,
codex_message_items TEXT"""

# Columns that later releases add to the tables of 0.13: (0.minor, table, column)
ADDED_COLUMNS = [
    *[(14, "sessions", f"handoff_{name} TEXT") for name in ("state", "platform", "error")],
    (15, "messages", "platform_message_id TEXT"),
    (15, "messages", "observed INTEGER DEFAULT 0"),
    (16, "sessions", "cwd TEXT"),
    (16, "sessions", "rewind_count INTEGER DEFAULT 0"),
    (16, "sessions", "archived INTEGER DEFAULT 0"),
    (16, "messages", "active INTEGER DEFAULT 1"),
    *[(18, "sessions", f"{name} TEXT") for name in ("session_key", "chat_id", "chat_type", "thread_id")],
    *[(18, "sessions", f"{name} TEXT") for name in ("git_branch", "git_repo_root")],
    (18, "messages", "compacted INTEGER DEFAULT 0"),
]

SEARCH_TABLES = """
CREATE VIRTUAL TABLE IF NOT EXISTS {fts} USING fts5(content, content=messages, content_rowid=id{options});
CREATE TRIGGER IF NOT EXISTS {fts}_insert AFTER INSERT ON messages BEGIN
  INSERT INTO {fts}(rowid, content) VALUES (new.id, new.content); END;
CREATE TRIGGER IF NOT EXISTS {fts}_delete AFTER DELETE ON messages BEGIN
  INSERT INTO {fts}({fts}, rowid, content) VALUES ('delete', old.id, old.content); END;
CREATE TRIGGER IF NOT EXISTS {fts}_update AFTER UPDATE ON messages BEGIN
  INSERT INTO {fts}({fts}, rowid, content) VALUES ('delete', old.id, old.content);
  INSERT INTO {fts}(rowid, content) VALUES (new.id, new.content); END;
"""


kept_open = []


def keep_open():
    """As the real Hermes, keeps one connection open: SQLite checkpoints the WAL when the last one closes."""
    kept_open.append(connect())
    kept_open[0].execute("SELECT count(*) FROM sessions").fetchall()


def close():
    while kept_open:
        kept_open.pop().close()


def connect():
    db = sqlite3.connect(home() / "state.db", timeout=30)
    db.execute("PRAGMA synchronous=NORMAL")
    return db


@contextmanager
def database():
    db = connect()
    try:
        db.row_factory = sqlite3.Row
        yield db
        db.commit()
    finally:
        db.close()


def prepare():
    with database() as db:
        db.execute("PRAGMA journal_mode=WAL")
        db.execute(f"CREATE TABLE IF NOT EXISTS sessions ({SESSION})")
        db.execute(f"CREATE TABLE IF NOT EXISTS messages ({MESSAGE})")
        db.execute("CREATE TABLE IF NOT EXISTS state_meta (key TEXT PRIMARY KEY, value TEXT)")
        db.execute("CREATE TABLE IF NOT EXISTS schema_version (version INTEGER NOT NULL)")
        db.execute("CREATE UNIQUE INDEX IF NOT EXISTS idx_sessions_title ON sessions(title) WHERE title IS NOT NULL")
        if since(16):
            db.execute("CREATE TABLE IF NOT EXISTS compression_locks (session_id TEXT PRIMARY KEY, locked_at REAL)")
        for minor, table, column in ADDED_COLUMNS:
            existing = [row["name"] for row in db.execute(f"PRAGMA table_info({table})")]
            if since(minor) and column.split()[0] not in existing:
                db.execute(f"ALTER TABLE {table} ADD COLUMN {column}")
        db.executescript(SEARCH_TABLES.format(fts="messages_fts", options=""))
        db.executescript(SEARCH_TABLES.format(fts="messages_fts_trigram", options=", tokenize='trigram'"))
        schema = 17 if since(18) else 11
        row = db.execute("SELECT version FROM schema_version").fetchone()
        if row is None:
            db.execute("INSERT INTO schema_version VALUES (?)", (schema,))
        elif row["version"] < schema:
            db.execute("UPDATE schema_version SET version = ?", (schema,))


def record(session, system, messages, route, usage, source="api_server"):
    """Writes the messages of one turn."""
    now = time.time()
    columns = ("role", "content", "tool_call_id", "tool_calls", "tool_name", "finish_reason")
    calls = sum(message["role"] == "tool" for message in messages)
    with database() as db:
        db.execute(
            "INSERT OR IGNORE INTO sessions (id, source, model, system_prompt, started_at) VALUES (?, ?, ?, ?, ?)",
            (session, source, route.model if route else None, system, now),
        )
        db.executemany(
            f"INSERT INTO messages (session_id, timestamp, {', '.join(columns)}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            [(session, now, *(message.get(name) for name in columns)) for message in messages],
        )
        db.execute(
            "UPDATE sessions SET message_count = message_count + ?, tool_call_count = tool_call_count + ?,"
            " input_tokens = input_tokens + ?, output_tokens = output_tokens + ?, api_call_count = api_call_count + 1,"
            " system_prompt = ?, billing_provider = ?, billing_base_url = ? WHERE id = ?",
            (
                *(len(messages), calls, usage["prompt_tokens"], usage["completion_tokens"], system),
                *(route.provider if route else None, route.base if route else None, session),
            ),
        )
    if not since(15):
        session_dump = {"session_id": session, "system_prompt": system, "messages": messages_of(session)}
        (home() / "sessions" / f"session_{session.replace('/', '_')}.json").write_text(json.dumps(session_dump))


def messages_of(session):
    active = " AND active = 1" if since(16) else ""
    with database() as db:
        rows = db.execute(f"SELECT * FROM messages WHERE session_id = ?{active} ORDER BY id", (session,))
        return [dict(row) for row in rows]


def history_of(session):
    """The session's messages, tool calls and results included."""
    return [history_message(row) for row in messages_of(session) if row["role"] in ("user", "assistant", "tool")]


def history_message(row):
    message = {"role": row["role"], "content": row["content"] or ""}
    if row["tool_calls"]:
        message["tool_calls"] = json.loads(row["tool_calls"])
    if row["tool_call_id"]:
        message["tool_call_id"] = row["tool_call_id"]
    return message


def session_of(session):
    with database() as db:
        row = db.execute("SELECT * FROM sessions WHERE id = ?", (session,)).fetchone()
        return dict(row) if row else None


def sessions(limit=-1, offset=0, source=None):
    where, values = ("WHERE source = ?", [source]) if source else ("", [])
    with database() as db:
        rows = db.execute(f"SELECT * FROM sessions {where} ORDER BY started_at DESC LIMIT ? OFFSET ?", [*values, limit, offset])
        return [dict(row) for row in rows]
