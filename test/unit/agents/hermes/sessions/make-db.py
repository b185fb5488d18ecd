# Makes a state.db of an old or a new Hermes, and when told to, leaves it as a process that has it open does.
import json
import os
import sqlite3
import sys

path, age, how = sys.argv[1:]
new = age == "new"
db = sqlite3.connect(path)
db.execute("PRAGMA journal_mode=WAL")
db.execute(
    "CREATE TABLE sessions (id TEXT PRIMARY KEY, source TEXT NOT NULL, model TEXT, system_prompt TEXT, parent_session_id TEXT,"
    " started_at REAL NOT NULL, ended_at REAL, message_count INTEGER DEFAULT 0, input_tokens INTEGER DEFAULT 0,"
    " output_tokens INTEGER DEFAULT 0, title TEXT" + (", archived INTEGER DEFAULT 0" if new else "") + ")"
)
db.execute(
    "CREATE TABLE messages (id INTEGER PRIMARY KEY AUTOINCREMENT, session_id TEXT NOT NULL, role TEXT NOT NULL, content TEXT,"
    " tool_call_id TEXT, tool_calls TEXT, tool_name TEXT, timestamp REAL NOT NULL"
    + (", active INTEGER DEFAULT 1, compacted INTEGER DEFAULT 0" if new else "") + ")"
)
if how != "no-fts":
    db.executescript("""
        CREATE VIRTUAL TABLE messages_fts USING fts5(content, content=messages, content_rowid=id);
        CREATE TRIGGER fts AFTER INSERT ON messages BEGIN
          INSERT INTO messages_fts(rowid, content) VALUES (new.id, new.content); END;
    """)

calls = json.dumps([{"id": "c1", "function": {"name": "terminal", "arguments": '{"command": "ls"}'}}])
db.execute("INSERT INTO sessions (id, source, model, system_prompt, started_at, message_count, input_tokens, output_tokens, title)"
           " VALUES ('20260101_080000_aaaaaaaa', 'cli', 'm-1', 'be kind', 1767254400, 4, 10, 5, 'Tea')")
db.execute("INSERT INTO sessions (id, source, started_at, message_count) VALUES ('20260101_090000_bbbbbbbb', 'telegram', 1767258000, NULL)")
for row in [
    ("20260101_080000_aaaaaaaa", "user", "deploy the invoice_100% \"now\" OR never", None, None, 1767254401),
    ("20260101_080000_aaaaaaaa", "assistant", None, calls, None, 1767254402),
    ("20260101_080000_aaaaaaaa", "tool", "README.md", None, "terminal", 1767254403),
    ("20260101_080000_aaaaaaaa", "assistant", "deployed; größer 東京タワー", None, None, 1767300000),
    ("20260101_090000_bbbbbbbb", "user", "\0json:" + json.dumps([{"type": "text", "text": "see"}, {"type": "image_url"}]), None, None, 1767258001),
]:
    db.execute("INSERT INTO messages (session_id, role, content, tool_calls, tool_name, timestamp) VALUES (?, ?, ?, ?, ?, ?)", row)
if new:
    db.execute("INSERT INTO messages (session_id, role, content, timestamp, active) VALUES ('20260101_090000_bbbbbbbb', 'user', 'rewound', 1767258002, 0)")
# Not text by any reading, in a column of text.
db.execute("INSERT INTO messages (session_id, role, content, timestamp) VALUES ('20260101_090000_bbbbbbbb', 'user', CAST(x'ff00fe' AS TEXT), 1767258003)")
if how == "proof":
    db.execute("INSERT INTO sessions (id, source, started_at, message_count) VALUES ('clm-proof-0011223344556677', 'api_server', 1767400000, 1)")
    db.execute("INSERT INTO messages (session_id, role, content, timestamp) VALUES ('clm-proof-0011223344556677', 'user', 'deploy OK', 1767400001)")
db.commit()
if how == "crashed":
    os._exit(0)
db.close()
