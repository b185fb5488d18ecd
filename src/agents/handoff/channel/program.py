# Asks an agent's gateway, by the row of a session in its state.db, to let that session go on in a channel, and waits until
# it has answered there. Run with the agent's own rights. What is asked is a line of JSON on stdin; as long as stdin stays
# open, somebody waits. Every answer is a line of JSON.
import json
import os
import select
import sqlite3
import sys
import time

asked = json.loads(sys.stdin.buffer.readline())
LOOK_SECONDS = 0.5
# So long a request that is at its end is tried to be taken back, while somebody else writes to the database.
PATIENCE_SECONDS = 5
# Only who made a request may take it back.
made = False
LAST = "coalesce((SELECT max(timestamp) FROM messages WHERE session_id = s.id), s.ended_at, s.started_at)"


class Refusal(Exception):
    def __init__(self, **said):
        self.said = said


def tell(**said):
    sys.stdout.write(json.dumps(said) + "\n")
    sys.stdout.flush()


def opened():
    path = asked["db"]
    if not os.path.exists(path):
        raise Refusal(absent=True)
    name = path.replace("%", "%25").replace("?", "%3f").replace("#", "%23")
    db = sqlite3.connect(f"file:{name}?mode=rw", uri=True, timeout=10)
    db.isolation_level = None
    db.row_factory = sqlite3.Row
    has = {row["name"] for row in db.execute("PRAGMA table_info(sessions)")}
    if not has:
        raise Refusal(absent=True)
    if "handoff_state" not in has:
        raise Refusal(fault="too-old", why="its state.db has no columns for it")
    return db


def look(db):
    tell(session=shown(db, meant(db, asked.get("session"))))


def meant(db, word):
    if word is None:
        row = db.execute(f"SELECT id FROM sessions s ORDER BY {LAST} DESC, s.rowid DESC LIMIT 1").fetchone()
        if row is None:
            raise Refusal(absent=True)
        return row["id"]
    if db.execute("SELECT 1 FROM sessions WHERE id = ?", [word]).fetchone():
        return word
    rows = db.execute("SELECT id FROM sessions WHERE substr(id, 1, ?) = ? LIMIT 6", [len(word), word]).fetchall()
    if len(rows) != 1:
        raise Refusal(unknown=word, like=[row["id"] for row in rows])
    return rows[0]["id"]


def shown(db, session):
    columns = "id, title, source, message_count AS messages, handoff_state AS state, handoff_platform AS platform"
    row = db.execute(f"SELECT {columns}, handoff_error AS error FROM sessions WHERE id = ?", [session]).fetchone()
    if row is None:
        raise Refusal(unknown=session, like=[])
    return dict(row)


# Only from the states that are named, and only the row that is still so: whatever the agent does meanwhile is its own.
def change(db, to, froms, platform=None, error=None):
    marks = ", ".join("?" for _ in froms)
    guard = f"coalesce(handoff_state, '') IN ({marks}) AND (? = 'pending' OR handoff_platform IS ?)"
    text = "UPDATE sessions SET handoff_state = ?, handoff_platform = ?, handoff_error = ? WHERE id = ? AND "
    values = [to, platform, error, asked["session"], *froms, to, platform]
    return db.execute(text + guard, values).rowcount == 1


def hand(db):
    global made
    session, platform = asked["session"], asked["platform"]
    before = shown(db, session)
    if asked["reset"] and before["state"] == "running":
        change(db, "failed", ["running"], before["platform"], "given up: nobody was at work on it any more")
    if change(db, "pending", ["", "completed", "failed"], platform):
        made = True
        tell(state="pending")
    else:
        now = shown(db, session)
        if now["state"] != "pending" or now["platform"] != platform:
            raise Refusal(busy=now["state"] or "free", platform=now["platform"])
        tell(state="pending", joined=True)
    tell(**wait(db, session, platform))


def wait(db, session, platform):
    # From here on a database that is in use is no reason to give up: it is asked again.
    db.execute(f"PRAGMA busy_timeout = {int(LOOK_SECONDS * 1000)}")
    until = time.monotonic() + asked["wait"]
    over = None
    told = "pending"
    while True:
        left = until - time.monotonic()
        gone = is_alone(0)
        if over is None and (left <= 0 or gone):
            over = time.monotonic()
        try:
            now = shown(db, session)
            state = now["state"]
            if now["platform"] != platform or state not in ("pending", "running", "completed", "failed"):
                return {"ended": "replaced", "state": state, "platform": now["platform"]}
            if state in ("completed", "failed"):
                return {"ended": state, "error": now["error"]}
            if state != told:
                tell(state=state)
                told = state
            if over is not None and (ended := given_up(db, state, platform, gone)):
                return {"ended": ended}
        except sqlite3.OperationalError as error:
            if not is_in_use(error):
                raise
            if over is not None and time.monotonic() - over > PATIENCE_SECONDS:
                return {"ended": "in-use", "state": told, "error": str(error)}
        if over is None:
            is_alone(max(0, min(LOOK_SECONDS, left)))


# How a request ends that nobody waits for any longer; nothing when the agent was faster.
def given_up(db, state, platform, gone):
    if state == "running":
        return "left-running" if gone else "stuck"
    if not made:
        return "left-pending"
    if change(db, "failed", ["pending"], platform, "taken back" if gone else "timed out waiting for gateway"):
        return "taken-back" if gone else "timed-out"
    return None


def is_in_use(error):
    return "locked" in str(error) or "busy" in str(error)


# Nobody says anything more on stdin: when there is something to read, it is its end.
def is_alone(seconds):
    ready, _, _ = select.select([0], [], [], seconds)
    return bool(ready) and os.read(0, 4096) == b""


try:
    database = opened()
    {"look": look, "hand": hand}[asked["verb"]](database)
except Refusal as refusal:
    tell(**refusal.said)
except BrokenPipeError:
    # Whoever waited has gone, and what was asked is taken back all the same.
    if made:
        database.execute(f"PRAGMA busy_timeout = {PATIENCE_SECONDS * 1000}")
        change(database, "failed", ["pending"], asked["platform"], "taken back")
    os._exit(0)
except (sqlite3.Error, OSError) as error:
    tell(fault="unreadable", why=str(error))
tell(end=True)
