# Writes to an agent's state.db what a handoff needs, with the agent's own rights. The request is JSON on stdin, the answer
# one line of JSON. Every verb is one transaction: whoever is killed in the middle leaves what was there before.
import glob
import json
import math
import os
import sqlite3
import sys

question = json.loads(sys.stdin.buffer.read())
path = question["db"]


class Refusal(Exception):
    def __init__(self, **said):
        self.said = said


def main():
    if not os.path.exists(path):
        return {"absent": True}
    name = path.replace("%", "%25").replace("?", "%3f").replace("#", "%23")
    db = sqlite3.connect(f"file:{name}?mode=rw", uri=True, timeout=30)
    try:
        db.isolation_level = None
        db.row_factory = sqlite3.Row
        db.text_factory = lambda raw: raw.decode("utf-8", "replace")
        has = {table: {row["name"] for row in db.execute(f"PRAGMA table_info({table})")} for table in ("sessions", "messages")}
        if not has["sessions"] or not has["messages"]:
            return {"absent": True}
        # Nobody else writes from here on.
        db.execute("BEGIN IMMEDIATE")
        try:
            answer = verbs[question["verb"]](db, has)
            db.execute("COMMIT")
        except BaseException:
            db.execute("ROLLBACK")
            raise
    finally:
        db.close()
    if question["verb"] in ("settle", "forget"):
        sweep()
    return answer


def look(db, has):
    missing = [f"sessions.{name}" for name in ("id", "source", "started_at") if name not in has["sessions"]]
    missing += [f"messages.{name}" for name in ("session_id", "role", "content", "timestamp") if name not in has["messages"]]
    return {"missing": missing, "there": there(db)}


def there(db):
    return db.execute("SELECT 1 FROM sessions WHERE id = ?", [question["id"]]).fetchone() is not None


def seed(db, has):
    if there(db):
        raise Refusal(fault="taken", why="a session of that id is there already")
    session = {**question["session"], "id": question["id"], "title": free(db, has, question["session"].get("title"))}
    insert(db, has, "sessions", session)
    for message in question["messages"]:
        insert(db, has, "messages", stored(message))
    return {"title": session["title"]}


# Of two sessions only one may have a title.
def free(db, has, title):
    if title is None or "title" not in has["sessions"]:
        return title
    for number in range(1, 10000):
        end = f" {number}" if number > 1 else ""
        candidate = title[: 100 - len(end)] + end
        if not db.execute("SELECT 1 FROM sessions WHERE title = ?", [candidate]).fetchone():
            return candidate
    return None


# Only what this version has a column for.
def insert(db, has, table, row):
    names = [name for name in row if name in has[table]]
    marks = ", ".join("?" for _ in names)
    db.execute(f"INSERT INTO {table} ({', '.join(names)}) VALUES ({marks})", [row[name] for name in names])


def stored(message):
    row = {**message, "session_id": question["id"]}
    # What has parts, as a text with pictures, is kept as JSON behind a mark.
    if isinstance(row["content"], list):
        row["content"] = "\0json:" + json.dumps(row["content"])
    if row.get("tool_calls") is not None:
        row["tool_calls"] = json.dumps(row["tool_calls"])
    return row


# Takes out what was planted and everything behind it. Where nothing is planted any more, nothing is taken.
def settle(db, has):
    if not there(db):
        raise Refusal(fault="gone", why="the session is not there any more")
    first = db.execute(
        "SELECT min(id) FROM messages WHERE session_id = ? AND content = ?", [question["id"], question["planted"]]
    ).fetchone()[0]
    if first is not None:
        last = db.execute("SELECT role, id FROM messages WHERE session_id = ? ORDER BY id DESC LIMIT 1", [question["id"]]).fetchone()
        # Note and acknowledgement are two: an answer is at least the fourth.
        behind = db.execute("SELECT count(*) FROM messages WHERE session_id = ? AND id >= ?", [question["id"], first]).fetchone()[0]
        if question["wait"] and (behind < 4 or last["role"] != "assistant"):
            return {"early": True}
        db.execute("DELETE FROM messages WHERE session_id = ? AND id >= ?", [question["id"], first])
        update(db, has, question["id"], question["counts"])
    rows = db.execute(f"SELECT * FROM messages WHERE session_id = ?{active(has)} ORDER BY id", [question["id"]]).fetchall()
    return {"messages": [message(row) for row in rows]}


# Later versions hide what was taken back, and keep it.
def active(has):
    return " AND active IS NOT 0" if "active" in has["messages"] else ""


def update(db, has, session, values):
    names = [name for name in values if name in has["sessions"]]
    if names:
        sets = ", ".join(f"{name} = ?" for name in names)
        db.execute(f"UPDATE sessions SET {sets} WHERE id = ?", [*(values[name] for name in names), session])


# Also what a summary was asked for in, and what the agent went on in when it folded the conversation.
def forget(db, has):
    start = question["id"] + "-"
    found = {row["id"] for row in db.execute("SELECT id FROM sessions WHERE id = ? OR substr(id, 1, ?) = ?", [question["id"], len(start), start])}
    if "parent_session_id" in has["sessions"]:
        while True:
            marks = ", ".join("?" for _ in found)
            more = {row["id"] for row in db.execute(f"SELECT id FROM sessions WHERE parent_session_id IN ({marks})", [*found])} - found
            if not more:
                break
            found |= more
    # Children first: one refers to the other.
    for name in sorted(found):
        db.execute("DELETE FROM messages WHERE session_id = ?", [name])
    if "parent_session_id" in has["sessions"]:
        for name in found:
            db.execute("UPDATE sessions SET parent_session_id = NULL WHERE id = ?", [name])
    for name in found:
        db.execute("DELETE FROM sessions WHERE id = ?", [name])
    return {"forgotten": len(found)}


# Older ones keep a copy of every session beside the database.
def sweep():
    for kept in glob.glob(os.path.join(glob.escape(os.path.dirname(path)), "sessions", "*" + glob.escape(question["id"]) + "*.json")):
        if os.path.isfile(kept) and not os.path.islink(kept):
            os.unlink(kept)


def close(db, has):
    row = db.execute(f"SELECT max(id) AS last FROM messages WHERE session_id = ?{active(has)}", [question["id"]]).fetchone()
    if not there(db) or row["last"] != question["last"]:
        return {"went_on": True}
    ended = dict(db.execute("SELECT * FROM sessions WHERE id = ?", [question["id"]]).fetchone()).get("ended_at")
    update(db, has, question["id"], {"ended_at": question["at"] if ended is None else ended, "end_reason": "handed_over"})
    return {"closed": True}


def message(row):
    said = {name: sayable(value) for name, value in dict(row).items()}
    content = said.get("content")
    if isinstance(content, str) and content[:6] in ("\0json:", "\1json:"):
        said["content"] = parsed(content[6:])
    if isinstance(said.get("tool_calls"), str):
        said["tool_calls"] = parsed(said["tool_calls"])
    return said


def sayable(value):
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    return None if isinstance(value, float) and not math.isfinite(value) else value


def parsed(text):
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


verbs = {"look": look, "seed": seed, "settle": settle, "forget": forget, "close": close}

try:
    told = main()
except Refusal as refusal:
    told = refusal.said
except (sqlite3.Error, OSError) as error:
    told = {"fault": "unwritable", "why": str(error)}
sys.stdout.write(json.dumps(told) + "\n")
