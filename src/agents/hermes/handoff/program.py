# Writes the session of a handoff to an agent's state.db. Every verb is one transaction, so a kill leaves the database as it was.
import glob
from contextlib import closing

HANDED_OVER = "handed_over"


def main():
    db, columns = open_writable(30)
    # As a context manager the connection commits, or rolls back after an exception.
    with closing(db), db:
        # Takes the write lock now, so that no other writer comes between the reads and the writes.
        db.execute("BEGIN IMMEDIATE")
        # A turn that was still running when these sessions were removed may have written them again.
        for session in request.get("removed", []):
            delete_tree(db, columns, session)
        reply = verbs[request["verb"]](db, columns)
    deleted = [request["id"]] if request["verb"] in ("remove-proof", "delete-session") else []
    for session in [*deleted, *request.get("removed", [])]:
        delete_json_copies(session)
    return reply


def check_columns(db, columns):
    missing = [f"sessions.{name}" for name in ("id", "source", "started_at") if name not in columns["sessions"]]
    missing += [f"messages.{name}" for name in ("session_id", "role", "content", "timestamp") if name not in columns["messages"]]
    return {"missing": missing}


def session_exists(db):
    return db.execute("SELECT 1 FROM sessions WHERE id = ?", [request["id"]]).fetchone() is not None


def insert_session(db, columns):
    if session_exists(db):
        raise Refused(fault="taken", why="a session with that id exists already")
    title = unique_title(db, columns, request["session"].get("title"))
    insert_row(db, columns, "sessions", {**request["session"], "id": request["id"], "title": title})
    for message in request["messages"]:
        insert_row(db, columns, "messages", message_to_row(message))
    return {"title": title}


# Hermes has a unique index on titles.
def unique_title(db, columns, title):
    if title is None or "title" not in columns["sessions"]:
        return title
    for number in range(1, 10000):
        suffix = f" {number}" if number > 1 else ""
        candidate = title[: 100 - len(suffix)] + suffix
        if not db.execute("SELECT 1 FROM sessions WHERE title = ?", [candidate]).fetchone():
            return candidate
    return None


# Skips values for which this version has no column.
def insert_row(db, columns, table, row):
    names = [name for name in row if name in columns[table]]
    marks = ", ".join("?" for _ in names)
    db.execute(f"INSERT INTO {table} ({', '.join(names)}) VALUES ({marks})", [row[name] for name in names])


def message_to_row(message):
    row = {**message, "session_id": request["id"]}
    if isinstance(row["content"], list):
        row["content"] = "\0json:" + json.dumps(row["content"])
    if row.get("tool_calls") is not None:
        row["tool_calls"] = json.dumps(row["tool_calls"])
    return row


# Deletes the note and the turn that proved it. Later messages belong to the users and stay. Without the note nothing is deleted.
def remove_proof(db, columns):
    if not session_exists(db):
        raise Refused(fault="gone", why="the session does not exist any more")
    rows = db.execute("SELECT * FROM messages WHERE session_id = ? ORDER BY id", [request["id"]]).fetchall()
    later = []
    note = next((at for at, row in enumerate(rows) if row["content"] == request["note"]), None)
    if note is not None:
        end = end_of_proof(rows, note)
        # The note and its acknowledgement are two messages, and the agent may not store the question: the answer is the third
        # at the earliest.
        if request["wait"] and (end - note < 3 or rows[end - 1]["role"] != "assistant"):
            return {"unanswered": True}
        counts = request["counts"]
        # Between the moved messages and the note there may be an acknowledgement that keeps the roles alternating.
        for row in rows[min(counts["message_count"], note) : end]:
            db.execute("DELETE FROM messages WHERE id = ?", [row["id"]])
        later = [message_to_json(row) for row in rows[end:]]
        calls = sum(len(message["tool_calls"]) for message in later if isinstance(message.get("tool_calls"), list))
        added = {"message_count": len(later), "tool_call_count": calls}
        update_session(db, columns, {name: counts[name] + added[name] for name in counts})
    query = f"SELECT * FROM messages m WHERE session_id = ?{only_active(columns)} ORDER BY id"
    messages = [message_to_json(row) for row in db.execute(query, [request["id"]])]
    return {"messages": messages, "note_found": note is not None, "later": len(later)}


# The proof ends before the next message of a user that is not clm's question.
def end_of_proof(rows, note):
    end = note + 1
    while end < len(rows) and (rows[end]["role"] != "user" or request["question"] in str(rows[end]["content"])):
        end += 1
    return end


def update_session(db, columns, values):
    names = [name for name in values if name in columns["sessions"]]
    if names:
        sets = ", ".join(f"{name} = ?" for name in names)
        db.execute(f"UPDATE sessions SET {sets} WHERE id = ?", [*(values[name] for name in names), request["id"]])


def delete_session(db, columns):
    return {"deleted": delete_tree(db, columns, request["id"])}


# Deletes a session, those of its summaries, and those that continue one of them after a compaction.
def delete_tree(db, columns, session):
    prefix = session + "-"
    # A turn that ends after the deletion leaves messages without a session.
    matching = "SELECT {0} AS id FROM {1} WHERE {0} = ? OR substr({0}, 1, ?) = ?"
    union = matching.format("id", "sessions") + " UNION " + matching.format("session_id", "messages")
    if "parent_session_id" in columns["sessions"]:
        union += " UNION SELECT s.id FROM sessions s JOIN tree ON s.parent_session_id = tree.id"
    query = f"WITH RECURSIVE tree(id) AS ({union}) SELECT id FROM tree"
    ids = [row["id"] for row in db.execute(query, [session, len(prefix), prefix] * 2)]
    # In this order, because messages refer to their session, and sessions to their parent.
    for each in ids:
        db.execute("DELETE FROM messages WHERE session_id = ?", [each])
        if "parent_session_id" in columns["sessions"]:
            db.execute("UPDATE sessions SET parent_session_id = NULL WHERE id = ?", [each])
    for each in ids:
        db.execute("DELETE FROM sessions WHERE id = ?", [each])
    return len(ids)


# Older versions keep a JSON copy of every session beside the database.
def delete_json_copies(session):
    folder = glob.escape(os.path.dirname(db_path))
    for file in glob.glob(os.path.join(folder, "sessions", "*" + glob.escape(session) + "*.json")):
        if os.path.isfile(file) and not os.path.islink(file):
            os.unlink(file)


def close_session(db, columns):
    query = f"SELECT max(id) AS last FROM messages m WHERE session_id = ?{only_active(columns)}"
    last = db.execute(query, [request["id"]]).fetchone()["last"]
    if not session_exists(db) or last != request["last"]:
        return {"closed": False}
    session = dict(db.execute("SELECT * FROM sessions WHERE id = ?", [request["id"]]).fetchone())
    if session.get("ended_at") is not None:
        # An interrupted run of clm may have closed it.
        return {"closed": True, "ended_before": session.get("end_reason") != HANDED_OVER}
    update_session(db, columns, {"ended_at": request["at"], "end_reason": HANDED_OVER})
    return {"closed": True}


verbs = {
    "check-columns": check_columns,
    "insert-session": insert_session,
    "remove-proof": remove_proof,
    "delete-session": delete_session,
    "close-session": close_session,
}
run(lambda: send(**main()), "unwritable")
