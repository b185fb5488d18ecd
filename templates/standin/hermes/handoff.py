"""Sessions that are to go on in a channel: asked for by a row of `state.db`, and answered there. From 0.14 on."""

import hashlib
import json
import logging
import os
import sqlite3
import time

from hermes_cli import channels, model, store
from hermes_cli.settings import home, switches, write_whole
from hermes_cli.turn import Nobody, turn

log = logging.getLogger("gateway.run")
FIRST_LOOK_SECONDS = 5
LOOK_SECONDS = 2
LONGEST_ERROR = 500
PLATFORMS = {"local", "api_server", *channels.NEEDS}
THREADED = {"discord", "slack", "telegram"}
HOMES = {"email": "EMAIL_HOME_ADDRESS", "matrix": "MATRIX_HOME_ROOM"}


class Failed(Exception):
    pass


def watch(config, platforms, wait):
    """Until `wait` says that it is over. `platforms` are those of this gateway, as gateway_state.json has them."""
    pause = FIRST_LOOK_SECONDS
    while not wait(pause):
        pause = LOOK_SECONDS
        try:
            for row in pending():
                if claim(row["id"]):
                    process(row, config, platforms)
        except sqlite3.Error:
            log.exception("Handoff watcher")


def pending():
    with store.database() as db:
        rows = db.execute("SELECT * FROM sessions WHERE handoff_state = 'pending' ORDER BY started_at")
        return [dict(row) for row in rows]


def claim(session):
    with store.database() as db:
        change = "UPDATE sessions SET handoff_state = 'running' WHERE id = ? AND handoff_state = 'pending'"
        return db.execute(change, (session,)).rowcount == 1


def end(session, state, error=None):
    """As the real one: it does not look whether that is still the request it was asked."""
    with store.database() as db:
        change = "UPDATE sessions SET handoff_state = ?, handoff_error = ? WHERE id = ?"
        db.execute(change, (state, error and error[:LONGEST_ERROR], session))


def process(row, config, platforms):
    session = row["id"]
    if "handoff-stuck" in switches():
        log.warning("Handoff: session %s is left in the middle (a switch of the stand-in)", session)
        return
    try:
        hand(row, config, platforms)
    except Failed as failed:
        log.warning("Handoff failed for session %s: %s", session, failed)
        end(session, "failed", str(failed))
    except Exception as error:
        log.exception("Handoff failed for session %s", session)
        end(session, "failed", str(error))
    else:
        end(session, "completed")


def hand(row, config, platforms):
    session, platform = row["id"], str(row["handoff_platform"] or "").lower()
    if platform not in PLATFORMS:
        raise Failed(f"unknown platform '{platform}'")
    if platforms.get(platform, {}).get("state") != "connected":
        raise Failed(f"platform '{platform}' is not active in this gateway")
    chat, thread = home_of(platform, config)
    if not chat:
        raise Failed(f"no home channel configured for {platform}; run /sethome on the destination")
    if said := switches().get("handoff-fails"):
        raise Failed(" ".join(said))
    title = row["title"] or session[:8]
    if platform in THREADED and not thread:
        thread = str(int(hashlib.sha256(f"{session}{time.time()}".encode()).hexdigest()[:14], 16))
        log.info("[%s] thread %s created in %s: Hermes — %s", platform, thread, chat, title)
    key = f"agent:main:{platform}:thread:{chat}:{thread}" if thread else f"agent:main:{platform}:dm:{chat}"
    switch(key, session, {"platform": platform, "chat_id": chat, "thread_id": thread or None})
    log.info("Handoff: dispatching synthetic turn for session %s to %s", session, platform)
    asked = f"[Session handed off from the CLI to {platform}. Confirm in one line, and summarise where we were.]"
    try:
        text, _ = turn(session, "", store.history_of(session), asked, Nobody())
    except (model.CallFailed, model.NoProvider) as error:
        raise Failed(f"the agent did not answer: {error}") from None
    log.info("[%s] posted to %s: %s", platform, ":".join(filter(None, (chat, thread))), text)


def home_of(platform, config):
    said = ((config.get("platforms") or {}).get(platform) or {}).get("home_channel") or {}
    variable = HOMES.get(platform, f"{platform.upper()}_HOME_CHANNEL")
    chat = os.environ.get(variable) or str(said.get("chat_id") or "")
    return chat, os.environ.get(f"{variable}_THREAD_ID") or str(said.get("thread_id") or "")


def switch(key, session, origin):
    """What was talked about there ends, and this session is open again."""
    path = home() / "sessions" / "sessions.json"
    try:
        bound = json.loads(path.read_text())
    except (OSError, ValueError):
        bound = {}
    now = time.time()
    before = bound.get(key, {}).get("session_id")
    with store.database() as db:
        if before not in (None, session):
            db.execute("UPDATE sessions SET ended_at = ?, end_reason = 'session_switch' WHERE id = ? AND ended_at IS NULL", (now, before))
        db.execute("UPDATE sessions SET ended_at = NULL, end_reason = NULL WHERE id = ?", (session,))
    bound[key] = {"session_key": key, "session_id": session, "updated_at": now, "origin": origin, "suspended": False}
    write_whole(path, json.dumps(bound, indent=2))
