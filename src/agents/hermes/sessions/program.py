# Reads an agent's conversations from its state.db. Never writes.
from contextlib import closing


def main():
    if not os.path.exists(db_path):
        raise Refused(absent=True)
    before = file_state()
    immutable = not (os.path.exists(db_path + "-wal") or os.path.exists(db_path + "-journal"))
    for reply in replies(immutable):
        # An immutable database is read without locks, so a change during the read must be noticed.
        if immutable and file_state() != before:
            raise Refused(fault="busy", why="the database was written while it was read")
        send(**reply)


def file_state():
    info = os.stat(db_path)
    return info.st_ino, info.st_size, info.st_mtime_ns


# With mode=ro SQLite creates the -wal and -shm of a database that no process has open, and leaves them (seen with 3.40).
# With immutable=1 it creates nothing, but ignores an existing -wal, which holds part of the data.
def open_snapshot(immutable):
    if not immutable and os.path.exists(db_path + "-wal") and not os.path.exists(db_path + "-shm"):
        raise Refused(fault="missing-shm", why=db_path + "-shm is missing beside its -wal, and reading would create it")
    db = connect("mode=ro&immutable=1" if immutable else "mode=ro", 10)
    # One transaction, so that all reads see the same state.
    db.execute("BEGIN")
    return db


def replies(immutable):
    with closing(open_snapshot(immutable)) as db:
        columns = read_columns(db)
        yield from verbs[request["verb"]](db, columns) if columns else [{"absent": True}]


# SQL conditions shared by list and search; `since` applies to `time_sql`. Sessions of clm's proofs are hidden.
def filter_sql(time_sql):
    parts, values = ["substr(s.id, 1, ?) <> ?"], [len(request["hidden_prefix"]), request["hidden_prefix"]]
    if request.get("source") is not None:
        parts.append("s.source = ?")
        values.append(request["source"])
    if request.get("since") is not None:
        parts.append(f"{time_sql} >= ?")
        values.append(request["since"])
    return "".join(" AND " + part for part in parts), values


def list_sessions(db, columns):
    where, values = filter_sql(LAST_ACTIVE)
    query = f"SELECT s.*, {LAST_ACTIVE} AS last_active FROM sessions s WHERE 1{where}"
    query += " ORDER BY last_active DESC, s.rowid DESC LIMIT ?"
    for row in db.execute(query, [*values, request["limit"]]):
        session = row_to_json(row)
        session.pop("system_prompt", None)
        if session.get("message_count") is None:
            count = f"SELECT count(*) FROM messages m WHERE m.session_id = ?{only_active(columns)}"
            session["message_count"] = db.execute(count, [row["id"]]).fetchone()[0]
        yield {"session": session}


def read_sessions(db, columns):
    for session in requested_ids(db):
        row = db.execute(f"SELECT s.*, {LAST_ACTIVE} AS last_active FROM sessions s WHERE s.id = ?", [session]).fetchone()
        rows = db.execute(f"SELECT * FROM messages m WHERE m.session_id = ?{only_active(columns)} ORDER BY m.id", [session])
        reply = {"session": row_to_json(row), "messages": [message_to_json(message) for message in rows]}
        if request.get("earlier"):
            reply["earlier"] = [message_to_json(message) for message in earlier_messages(db, columns, session)]
        yield reply


# All messages of the parent sessions, oldest first, and of the session itself if some of its own are hidden.
def earlier_messages(db, columns, session):
    ids = []
    if "active" in columns["messages"]:
        if db.execute("SELECT 1 FROM messages WHERE session_id = ? AND active IS 0 LIMIT 1", [session]).fetchone():
            ids.append(session)
    visited = {session}
    while "parent_session_id" in columns["sessions"]:
        row = db.execute("SELECT parent_session_id AS parent FROM sessions WHERE id = ?", [session]).fetchone()
        if row is None or row["parent"] is None or row["parent"] in visited:
            break
        session = row["parent"]
        visited.add(session)
        ids.append(session)
    for each in reversed(ids):
        yield from db.execute("SELECT * FROM messages WHERE session_id = ? ORDER BY id", [each])


# Resolves every id before the first session is sent.
def requested_ids(db):
    if request.get("all"):
        rows = db.execute("SELECT id FROM sessions ORDER BY started_at, rowid")
        return [row["id"] for row in rows if not str(row["id"]).startswith(request["hidden_prefix"])]
    return list(dict.fromkeys(resolve_session_id(db, prefix) for prefix in request["ids"]))


def search(db, columns):
    terms = request["text"].replace("\0", " ").split()
    where, values = filter_sql("m.timestamp")
    select = "SELECT m.*, s.source, s.title FROM {} JOIN sessions s ON s.id = m.session_id WHERE {}"
    select += only_active(columns) + where + " ORDER BY m.timestamp DESC, m.id DESC LIMIT ?"
    values.append(request["limit"])
    # Quotes keep a term from being read as FTS syntax; the star matches words that begin with it.
    match = " ".join('"' + term.replace('"', '""') + '" *' for term in terms)
    rows = []
    try:
        table = "messages_fts JOIN messages m ON m.id = messages_fts.rowid"
        rows = db.execute(select.format(table, "messages_fts MATCH ?"), [match, *values]).fetchall()
    except sqlite3.OperationalError:
        # The database has no FTS table, or this SQLite no FTS.
        pass
    # The full-text index does not find text inside a word.
    if not rows:
        names = [name for name in ("content", "tool_calls") if name in columns["messages"]]
        condition = "(" + " OR ".join(f"m.{name} LIKE ? ESCAPE '!'" for name in names) + ")"
        likes = ["%" + term.replace("!", "!!").replace("%", "!%").replace("_", "!_") + "%" for term in terms]
        patterns = [like for like in likes for _ in names]
        where = " AND ".join([condition] * len(terms))
        rows = db.execute(select.format("messages m", where), [*patterns, *values]).fetchall()
    for row in rows:
        yield {"hit": message_to_json(row)}


verbs = {"list": list_sessions, "read": read_sessions, "search": search}

run(main, "unreadable")
