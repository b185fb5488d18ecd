# Requests that an agent's gateway continues a session in a channel, through the session's row in state.db, and waits for the
# outcome. clm closes stdin when it stops waiting.
import select
import time

POLL_SECONDS = 0.5
# After the wait, how long a locked database is retried to withdraw the request.
LOCK_TIMEOUT_SECONDS = 5
# Only the program that made a request may withdraw it.
request_made = False


def open_database():
    db, columns = open_writable(10)
    if "handoff_state" not in columns["sessions"]:
        raise Refused(fault="too-old", why="its state.db has no handoff columns")
    return db


def show_session(db):
    prefix = request.get("session")
    send(session=read_session(db, last_used_session(db) if prefix is None else resolve_session_id(db, prefix)))


def last_used_session(db):
    for row in db.execute(f"SELECT id FROM sessions s ORDER BY {LAST_ACTIVE} DESC, s.rowid DESC"):
        if not any(row["id"] == prefix or row["id"].startswith(prefix + "-") for prefix in request["exclude"]):
            return row["id"]
    raise Refused(absent=True)


def read_session(db, session):
    columns = "id, title, source, message_count AS messages, handoff_state AS state, handoff_platform AS platform"
    row = db.execute(f"SELECT {columns}, handoff_error AS error FROM sessions WHERE id = ?", [session]).fetchone()
    if row is None:
        raise Refused(unknown=session, candidates=[])
    return dict(row)


# Updates the row only while it is in one of `from_states` and, except for a new request, still for this platform: the agent may
# have changed it meanwhile.
def set_state(db, state, from_states, platform=None, error=None):
    marks = ", ".join("?" for _ in from_states)
    guard = f"coalesce(handoff_state, '') IN ({marks}) AND (? = 'pending' OR handoff_platform IS ?)"
    text = "UPDATE sessions SET handoff_state = ?, handoff_platform = ?, handoff_error = ? WHERE id = ? AND "
    values = [state, platform, error, request["session"], *from_states, state, platform]
    return db.execute(text + guard, values).rowcount == 1


def request_handoff(db):
    global request_made
    session, platform = request["session"], request["platform"]
    before = read_session(db, session)
    if request["reset"] and before["state"] == "running":
        set_state(db, "failed", ["running"], before["platform"], "given up: nobody was at work on it any more")
    if set_state(db, "pending", ["", "completed", "failed"], platform):
        request_made = True
        send(state="pending")
    else:
        now = read_session(db, session)
        if now["state"] != "pending" or now["platform"] != platform:
            raise Refused(busy=now["state"] or "free", platform=now["platform"])
        send(state="pending", joined=True)
    send(**wait_for_outcome(db, session, platform))


def wait_for_outcome(db, session, platform):
    # A locked database does not end the wait: the next poll reads it again.
    db.execute(f"PRAGMA busy_timeout = {int(POLL_SECONDS * 1000)}")
    deadline = time.monotonic() + request["wait"]
    wait_ended = None
    last_state = "pending"
    while True:
        remaining = deadline - time.monotonic()
        cancelled = stdin_closed(0)
        if wait_ended is None and (remaining <= 0 or cancelled):
            wait_ended = time.monotonic()
        try:
            now = read_session(db, session)
            state = now["state"]
            if now["platform"] != platform or state not in ("pending", "running", "completed", "failed"):
                return {"outcome": "replaced", "state": state, "platform": now["platform"]}
            if state in ("completed", "failed"):
                return {"outcome": state, "error": now["error"]}
            if state != last_state:
                send(state=state)
                last_state = state
            if wait_ended is not None and (outcome := withdraw(db, state, platform, cancelled)):
                return {"outcome": outcome}
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) and "busy" not in str(error):
                raise
            if wait_ended is not None and time.monotonic() - wait_ended > LOCK_TIMEOUT_SECONDS:
                return {"outcome": "database-locked", "state": last_state, "error": str(error)}
        if wait_ended is None:
            stdin_closed(max(0, min(POLL_SECONDS, remaining)))


# Withdraws the request if possible, and returns the outcome; None when the agent changed the row first.
def withdraw(db, state, platform, cancelled):
    if state == "running":
        return "left-running" if cancelled else "stuck"
    if not request_made:
        return "left-pending"
    if set_state(db, "failed", ["pending"], platform, "taken back" if cancelled else "timed out waiting for gateway"):
        return "withdrawn" if cancelled else "timed-out"
    return None


# Waits up to `seconds`. clm sends nothing after the request, so stdin becomes readable only when it is closed.
def stdin_closed(seconds):
    ready, _, _ = select.select([0], [], [], seconds)
    return bool(ready) and os.read(0, 4096) == b""


def main():
    db = open_database()
    try:
        {"show-session": show_session, "request-handoff": request_handoff}[request["verb"]](db)
    except BrokenPipeError:
        # clm is gone, so nobody reads the outcome; the request is withdrawn all the same.
        if request_made:
            db.execute(f"PRAGMA busy_timeout = {LOCK_TIMEOUT_SECONDS * 1000}")
            set_state(db, "failed", ["pending"], request["platform"], "taken back")
        os._exit(0)


run(main, "unreadable")
