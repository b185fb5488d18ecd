# How every program of ours begins that works on an agent's state.db, with the agent's own rights. What it is asked is a line
# of JSON on stdin; each answer is a line of JSON, and the last one says that it is the last.
import json
import math
import os
import sqlite3
import sys

question = json.loads(sys.stdin.buffer.readline())
path = question["db"]
# When a session was used last.
LAST = "coalesce((SELECT max(timestamp) FROM messages WHERE session_id = s.id), s.ended_at, s.started_at)"


class Refusal(Exception):
    def __init__(self, **said):
        self.said = said


def tell(**said):
    sys.stdout.write(json.dumps(said) + "\n")
    sys.stdout.flush()


# `how` is what SQLite knows as parameters of a URI.
def connected(how, timeout):
    name = path.replace("%", "%25").replace("?", "%3f").replace("#", "%23")
    db = sqlite3.connect(f"file:{name}?{how}", uri=True, timeout=timeout)
    db.isolation_level = None
    db.row_factory = sqlite3.Row
    db.text_factory = lambda raw: raw.decode("utf-8", "replace")
    return db


# By table; nothing when there are no sessions in it yet.
def columns(db):
    has = {table: {row["name"] for row in db.execute(f"PRAGMA table_info({table})")} for table in ("sessions", "messages")}
    return has if has["sessions"] and has["messages"] else None


# For a program that writes: the database and its columns.
def writable(timeout):
    db = connected("mode=rw", timeout) if os.path.exists(path) else None
    has = db and columns(db)
    if not has:
        raise Refusal(absent=True)
    return db, has


# Later versions hide messages that were taken back, and keep them. `m` is the table of messages.
def active(has):
    return " AND m.active IS NOT 0" if "active" in has["messages"] else ""


# A session by its id, or by how that begins.
def meant(db, word):
    if db.execute("SELECT 1 FROM sessions WHERE id = ?", [word]).fetchone():
        return word
    rows = db.execute("SELECT id FROM sessions WHERE substr(id, 1, ?) = ? LIMIT 6", [len(word), word]).fetchall()
    if len(rows) != 1:
        raise Refusal(unknown=word, like=[row["id"] for row in rows])
    return rows[0]["id"]


def plain(row):
    return {name: sayable(value) for name, value in dict(row).items()}


# JSON knows neither bytes nor what is no number.
def sayable(value):
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    return None if isinstance(value, float) and not math.isfinite(value) else value


def message(row):
    said = plain(row)
    content = said.get("content")
    # What has parts, as a text with pictures, is kept as JSON behind a mark.
    if isinstance(content, str) and content[:6] in ("\0json:", "\1json:"):
        said["content"] = parsed(content[6:])
    if isinstance(said.get("tool_calls"), str):
        said["tool_calls"] = parsed(said["tool_calls"])
    return said


def parsed(text):
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


# Runs a program and tells what kept it from its end.
def conclude(program, fault):
    try:
        program()
    except Refusal as refusal:
        tell(**refusal.said)
    except (sqlite3.Error, OSError) as error:
        tell(fault=fault, why=str(error))
    tell(end=True)
