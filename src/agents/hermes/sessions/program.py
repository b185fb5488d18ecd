# Reads what was said to an agent from its state.db. Never writes.
from contextlib import closing


def main():
    if not os.path.exists(path):
        raise Refusal(absent=True)
    before = standing()
    alone = not (os.path.exists(path + "-wal") or os.path.exists(path + "-journal"))
    for answer in answers(alone):
        # What nobody had open is read without locks: it must not have changed meanwhile.
        if alone and standing() != before:
            raise Refusal(fault="busy", why="it was written while it was read")
        tell(**answer)


def standing():
    is_now = os.stat(path)
    return is_now.st_ino, is_now.st_size, is_now.st_mtime_ns


# In mode=ro SQLite makes the -wal and -shm of a database that nobody has open, and leaves them (seen with 3.40); immutable
# it makes nothing. With a -wal that would be wrong: part of the database is in there.
def opened(alone):
    if not alone and os.path.exists(path + "-wal") and not os.path.exists(path + "-shm"):
        raise Refusal(fault="unshared", why=path + "-shm is missing beside its -wal, and reading would make it")
    db = connected("mode=ro&immutable=1" if alone else "mode=ro", 10)
    # Everything that is read is of one moment.
    db.execute("BEGIN")
    return db


def answers(alone):
    with closing(opened(alone)) as db:
        has = columns(db)
        yield from verbs[question["verb"]](db, has) if has else [{"absent": True}]


# Of both a list and a search: only this source, only since then, and none that a proof of clm's asked its question in.
def narrowed(when):
    parts, values = ["substr(s.id, 1, ?) <> ?"], [len(question["hidden"]), question["hidden"]]
    if question.get("source") is not None:
        parts.append("s.source = ?")
        values.append(question["source"])
    if question.get("since") is not None:
        parts.append(f"{when} >= ?")
        values.append(question["since"])
    return "".join(" AND " + part for part in parts), values


def sessions(db, has):
    where, values = narrowed(LAST)
    rows = db.execute(
        f"SELECT s.*, {LAST} AS last_active FROM sessions s WHERE 1{where} ORDER BY last_active DESC, s.rowid DESC LIMIT ?",
        [*values, question["limit"]],
    )
    for row in rows:
        session = plain(row)
        session.pop("system_prompt", None)
        if session.get("message_count") is None:
            count = f"SELECT count(*) FROM messages m WHERE m.session_id = ?{active(has)}"
            session["message_count"] = db.execute(count, [row["id"]]).fetchone()[0]
        yield {"session": session}


def whole(db, has):
    for name in wanted(db):
        row = db.execute(f"SELECT s.*, {LAST} AS last_active FROM sessions s WHERE s.id = ?", [name]).fetchone()
        rows = db.execute(f"SELECT * FROM messages m WHERE m.session_id = ?{active(has)} ORDER BY m.id", [name])
        answer = {"session": plain(row), "messages": [message(each) for each in rows]}
        if question.get("earlier"):
            answer["earlier"] = [message(each) for each in earlier(db, has, name)]
        yield answer


# What a session does not show any more: all of those it goes on from, and all of itself when some of it was taken back.
def earlier(db, has, name):
    names = []
    if "active" in has["messages"]:
        if db.execute("SELECT 1 FROM messages WHERE session_id = ? AND active IS 0 LIMIT 1", [name]).fetchone():
            names.append(name)
    seen = {name}
    while "parent_session_id" in has["sessions"]:
        row = db.execute("SELECT parent_session_id AS parent FROM sessions WHERE id = ?", [name]).fetchone()
        if row is None or row["parent"] is None or row["parent"] in seen:
            break
        name = row["parent"]
        seen.add(name)
        names.append(name)
    for each in reversed(names):
        yield from db.execute("SELECT * FROM messages WHERE session_id = ? ORDER BY id", [each])


# Every name is known to mean one session before the first is told.
def wanted(db):
    if question.get("all"):
        rows = db.execute("SELECT id FROM sessions ORDER BY started_at, rowid")
        return [row["id"] for row in rows if not str(row["id"]).startswith(question["hidden"])]
    return list(dict.fromkeys(meant(db, word) for word in question["ids"]))


def search(db, has):
    terms = question["text"].replace("\0", " ").split()
    where, values = narrowed("m.timestamp")
    shown = "SELECT m.*, s.source, s.title FROM {} JOIN sessions s ON s.id = m.session_id WHERE {}" + active(has) + where
    shown += " ORDER BY m.timestamp DESC, m.id DESC LIMIT ?"
    values.append(question["limit"])
    # Each term is quoted: nothing a person types is syntax. The star makes it the beginning of a word.
    match = " ".join('"' + term.replace('"', '""') + '" *' for term in terms)
    rows = []
    try:
        table = "messages_fts JOIN messages m ON m.id = messages_fts.rowid"
        rows = db.execute(shown.format(table, "messages_fts MATCH ?"), [match, *values]).fetchall()
    except sqlite3.OperationalError:
        # No such table, or a SQLite without it.
        pass
    # An index of words does not find what stands inside of one.
    if not rows:
        searched = [name for name in ("content", "tool_calls") if name in has["messages"]]
        some = "(" + " OR ".join(f"m.{name} LIKE ? ESCAPE '!'" for name in searched) + ")"
        likes = ["%" + term.replace("!", "!!").replace("%", "!%").replace("_", "!_") + "%" for term in terms]
        each = [like for like in likes for _ in searched]
        rows = db.execute(shown.format("messages m", " AND ".join([some] * len(terms))), [*each, *values]).fetchall()
    for row in rows:
        yield {"hit": message(row)}


verbs = {"list": sessions, "whole": whole, "search": search}

conclude(main, "unreadable")
