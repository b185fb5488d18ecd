# Asks an agent's gateway, by the row of a session in its state.db, to let that session go on in a channel, and waits until
# it has answered there. As long as stdin stays open, somebody waits.
import select
import time

LOOK_SECONDS = 0.5
# So long a request that is at its end is tried to be taken back, while somebody else writes to the database.
PATIENCE_SECONDS = 5
# Only who made a request may take it back.
made = False


def opened():
    db, has = writable(10)
    if "handoff_state" not in has["sessions"]:
        raise Refusal(fault="too-old", why="its state.db has no columns for it")
    return db


def look(db):
    word = question.get("session")
    tell(session=shown(db, used_last(db) if word is None else meant(db, word)))


def used_last(db):
    for row in db.execute(f"SELECT id FROM sessions s ORDER BY {LAST} DESC, s.rowid DESC"):
        if not any(row["id"] == each or row["id"].startswith(each + "-") for each in question["without"]):
            return row["id"]
    raise Refusal(absent=True)


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
    values = [to, platform, error, question["session"], *froms, to, platform]
    return db.execute(text + guard, values).rowcount == 1


def hand(db):
    global made
    session, platform = question["session"], question["platform"]
    before = shown(db, session)
    if question["reset"] and before["state"] == "running":
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
    until = time.monotonic() + question["wait"]
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
            if "locked" not in str(error) and "busy" not in str(error):
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


# Nobody says anything more on stdin: when there is something to read, it is its end.
def is_alone(seconds):
    ready, _, _ = select.select([0], [], [], seconds)
    return bool(ready) and os.read(0, 4096) == b""


def main():
    db = opened()
    try:
        {"look": look, "hand": hand}[question["verb"]](db)
    except BrokenPipeError:
        # Whoever waited has gone, and what was asked is taken back all the same.
        if made:
            db.execute(f"PRAGMA busy_timeout = {PATIENCE_SECONDS * 1000}")
            change(db, "failed", ["pending"], question["platform"], "taken back")
        os._exit(0)


conclude(main, "unreadable")
