# Writes to an agent's state.db what a handoff needs. Every verb is one transaction: whoever is killed in the middle leaves
# what was there before.
import glob
from contextlib import closing

HANDED_OVER = "handed_over"


def main():
    db, has = writable(30)
    # As a context the database commits, and after any exception rolls back.
    with closing(db), db:
        # Nobody else writes from here on.
        db.execute("BEGIN IMMEDIATE")
        # What was taken away before may have been written once more, by a turn that nobody hears any more.
        for gone in question.get("gone", []):
            take_away(db, has, gone)
        answer = verbs[question["verb"]](db, has)
    for gone in [*([question["id"]] if question["verb"] in ("settle", "forget") else []), *question.get("gone", [])]:
        sweep(gone)
    return answer


def look(db, has):
    missing = [f"sessions.{name}" for name in ("id", "source", "started_at") if name not in has["sessions"]]
    missing += [f"messages.{name}" for name in ("session_id", "role", "content", "timestamp") if name not in has["messages"]]
    return {"missing": missing}


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
    if isinstance(row["content"], list):
        row["content"] = "\0json:" + json.dumps(row["content"])
    if row.get("tool_calls") is not None:
        row["tool_calls"] = json.dumps(row["tool_calls"])
    return row


# Takes out what was planted, and the turn that proved it. What people said behind that is theirs, and stays. Where nothing is
# planted any more, nothing is taken.
def settle(db, has):
    if not there(db):
        raise Refusal(fault="gone", why="the session is not there any more")
    rows = db.execute("SELECT * FROM messages WHERE session_id = ? ORDER BY id", [question["id"]]).fetchall()
    behind = []
    note = next((at for at, row in enumerate(rows) if row["content"] == question["planted"]), None)
    if note is not None:
        end = end_of_proof(rows, note)
        # Note and acknowledgement are two: an answer is at least the third, for the question may not have been written down.
        if question["wait"] and (end - note < 3 or rows[end - 1]["role"] != "assistant"):
            return {"early": True}
        counts = question["counts"]
        # Between what moved and the note there may be what keeps the roles in turn.
        for row in rows[min(counts["message_count"], note) : end]:
            db.execute("DELETE FROM messages WHERE id = ?", [row["id"]])
        behind = [message(row) for row in rows[end:]]
        calls = sum(len(each["tool_calls"]) for each in behind if isinstance(each.get("tool_calls"), list))
        more = {"message_count": len(behind), "tool_call_count": calls}
        update(db, has, question["id"], {name: counts[name] + more[name] for name in counts})
    rows = db.execute(f"SELECT * FROM messages m WHERE session_id = ?{active(has)} ORDER BY id", [question["id"]]).fetchall()
    return {"messages": [message(row) for row in rows], "planted": note is not None, "behind": len(behind)}


# Up to what the next user says who does not ask our question.
def end_of_proof(rows, note):
    end = note + 1
    while end < len(rows) and (rows[end]["role"] != "user" or question["question"] in str(rows[end]["content"])):
        end += 1
    return end


def update(db, has, session, values):
    names = [name for name in values if name in has["sessions"]]
    if names:
        sets = ", ".join(f"{name} = ?" for name in names)
        db.execute(f"UPDATE sessions SET {sets} WHERE id = ?", [*(values[name] for name in names), session])


def forget(db, has):
    return {"forgotten": take_away(db, has, question["id"])}


# Also what a summary was asked for in, and what the agent went on in when it folded the conversation.
def take_away(db, has, session):
    start = session + "-"
    # Messages may be there without their session: of a turn that ended when that had been taken away.
    some = "SELECT {0} AS id FROM {1} WHERE {0} = ? OR substr({0}, 1, ?) = ?"
    every = some.format("id", "sessions") + " UNION " + some.format("session_id", "messages")
    if "parent_session_id" in has["sessions"]:
        every += " UNION SELECT s.id FROM sessions s JOIN gone ON s.parent_session_id = gone.id"
    query = f"WITH RECURSIVE gone(id) AS ({every}) SELECT id FROM gone"
    found = [row["id"] for row in db.execute(query, [session, len(start), start] * 2)]
    # One refers to the other: messages to their session, a session to its parent.
    for name in found:
        db.execute("DELETE FROM messages WHERE session_id = ?", [name])
        if "parent_session_id" in has["sessions"]:
            db.execute("UPDATE sessions SET parent_session_id = NULL WHERE id = ?", [name])
    for name in found:
        db.execute("DELETE FROM sessions WHERE id = ?", [name])
    return len(found)


# Older ones keep a copy of every session beside the database.
def sweep(session):
    for kept in glob.glob(os.path.join(glob.escape(os.path.dirname(path)), "sessions", "*" + glob.escape(session) + "*.json")):
        if os.path.isfile(kept) and not os.path.islink(kept):
            os.unlink(kept)


def close(db, has):
    row = db.execute(f"SELECT max(id) AS last FROM messages m WHERE session_id = ?{active(has)}", [question["id"]]).fetchone()
    if not there(db) or row["last"] != question["last"]:
        return {"closed": False}
    ended = dict(db.execute("SELECT * FROM sessions WHERE id = ?", [question["id"]]).fetchone())
    if ended.get("ended_at") is not None:
        # Whatever ended it; a run that was cut short may have.
        return {"closed": True, "before": ended.get("end_reason") != HANDED_OVER}
    update(db, has, question["id"], {"ended_at": question["at"], "end_reason": HANDED_OVER})
    return {"closed": True}


verbs = {"look": look, "seed": seed, "settle": settle, "forget": forget, "close": close}
conclude(lambda: tell(**main()), "unwritable")
