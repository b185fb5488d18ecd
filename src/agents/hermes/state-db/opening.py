# Shared start of every program that clm runs on an agent's state.db, with the agent's own rights. The request is one line of
# JSON on stdin; each reply is one line of JSON on stdout, and the last one is {"end": true}.
import json
import math
import os
import sqlite3
import sys

request = json.loads(sys.stdin.buffer.readline())
db_path = request["db"]
# SQL for the time a session `s` was last used.
LAST_ACTIVE = "coalesce((SELECT max(timestamp) FROM messages WHERE session_id = s.id), s.ended_at, s.started_at)"


# Ends the program with this reply.
class Refused(Exception):
    def __init__(self, **reply):
        self.reply = reply


def send(**reply):
    sys.stdout.write(json.dumps(reply) + "\n")
    sys.stdout.flush()


# `parameters` are those of an SQLite URI.
def connect(parameters, timeout):
    name = db_path.replace("%", "%25").replace("?", "%3f").replace("#", "%23")
    db = sqlite3.connect(f"file:{name}?{parameters}", uri=True, timeout=timeout)
    db.isolation_level = None
    db.row_factory = sqlite3.Row
    db.text_factory = lambda raw: raw.decode("utf-8", "replace")
    return db


# Column names by table; None when the database has no session tables yet.
def read_columns(db):
    columns = {table: {row["name"] for row in db.execute(f"PRAGMA table_info({table})")} for table in ("sessions", "messages")}
    return columns if columns["sessions"] and columns["messages"] else None


def open_writable(timeout):
    db = connect("mode=rw", timeout) if os.path.exists(db_path) else None
    columns = db and read_columns(db)
    if not columns:
        raise Refused(absent=True)
    return db, columns


# Later versions hide undone and compacted messages instead of deleting them. `m` is the messages table.
def only_active(columns):
    return " AND m.active IS NOT 0" if "active" in columns["messages"] else ""


# Accepts an id, or a prefix that only one session has.
def resolve_session_id(db, prefix):
    if db.execute("SELECT 1 FROM sessions WHERE id = ?", [prefix]).fetchone():
        return prefix
    rows = db.execute("SELECT id FROM sessions WHERE substr(id, 1, ?) = ? LIMIT 6", [len(prefix), prefix]).fetchall()
    if len(rows) != 1:
        raise Refused(unknown=prefix, candidates=[row["id"] for row in rows])
    return rows[0]["id"]


def row_to_json(row):
    return {name: json_value(value) for name, value in dict(row).items()}


# JSON has neither bytes nor NaN and infinity.
def json_value(value):
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    return None if isinstance(value, float) and not math.isfinite(value) else value


def message_to_json(row):
    message = row_to_json(row)
    content = message.get("content")
    # Hermes stores content in parts, such as text with pictures, as JSON after a prefix.
    if isinstance(content, str) and content[:6] in ("\0json:", "\1json:"):
        message["content"] = parse_json(content[6:])
    if isinstance(message.get("tool_calls"), str):
        message["tool_calls"] = parse_json(message["tool_calls"])
    return message


def parse_json(text):
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


# Runs a program and replies with its error, if any. `fault` is the code for database and file errors.
def run(program, fault):
    try:
        program()
    except Refused as refused:
        send(**refused.reply)
    except (sqlite3.Error, OSError) as error:
        send(fault=fault, why=str(error))
    send(end=True)
