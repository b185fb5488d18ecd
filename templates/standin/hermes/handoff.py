"""Hands sessions over to a channel, from 0.14 on: polls `state.db` for requests, and writes the outcome there."""

import hashlib
import json
import logging
import os
import sqlite3
import time

from hermes_cli import channels, model, store
from hermes_cli.settings import home, switches, write_atomically
from hermes_cli.turn import Listener, turn

log = logging.getLogger("gateway.run")
FIRST_POLL_SECONDS = 5
POLL_SECONDS = 2
MAX_ERROR_LENGTH = 500
PLATFORMS = {"local", "api_server", *channels.REQUIRED_VARIABLES}
THREADED = {"discord", "slack", "telegram"}
HOME_VARIABLES = {"email": "EMAIL_HOME_ADDRESS", "matrix": "MATRIX_HOME_ROOM"}


class HandoffFailed(Exception):
    pass


def watch(config, platforms, wait):
    """Polls until `wait` returns true. `platforms` is the table of the same name in gateway_state.json."""
    pause = FIRST_POLL_SECONDS
    while not wait(pause):
        pause = POLL_SECONDS
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
        update = "UPDATE sessions SET handoff_state = 'running' WHERE id = ? AND handoff_state = 'pending'"
        return db.execute(update, (session,)).rowcount == 1


def finish(session, state, error=None):
    """As the real Hermes, does not check that the row still holds the same request."""
    with store.database() as db:
        update = "UPDATE sessions SET handoff_state = ?, handoff_error = ? WHERE id = ?"
        db.execute(update, (state, error and error[:MAX_ERROR_LENGTH], session))


def process(row, config, platforms):
    session = row["id"]
    if "handoff-stuck" in switches():
        log.warning("Handoff: session %s is left in the middle (a switch of the stand-in)", session)
        return
    try:
        dispatch(row, config, platforms)
    except HandoffFailed as error:
        log.warning("Handoff failed for session %s: %s", session, error)
        finish(session, "failed", str(error))
    except Exception as error:
        log.exception("Handoff failed for session %s", session)
        finish(session, "failed", str(error))
    else:
        finish(session, "completed")


def dispatch(row, config, platforms):
    session, platform = row["id"], str(row["handoff_platform"] or "").lower()
    if platform not in PLATFORMS:
        raise HandoffFailed(f"unknown platform '{platform}'")
    if platforms.get(platform, {}).get("state") != "connected":
        raise HandoffFailed(f"platform '{platform}' is not active in this gateway")
    chat, thread = home_channel(platform, config)
    if not chat:
        raise HandoffFailed(f"no home channel configured for {platform}; run /sethome on the destination")
    if reason := switches().get("handoff-fails"):
        raise HandoffFailed(" ".join(reason))
    title = row["title"] or session[:8]
    if platform in THREADED and not thread:
        thread = str(int(hashlib.sha256(f"{session}{time.time()}".encode()).hexdigest()[:14], 16))
        log.info("[%s] thread %s created in %s: Hermes — %s", platform, thread, chat, title)
    key = f"agent:main:{platform}:thread:{chat}:{thread}" if thread else f"agent:main:{platform}:dm:{chat}"
    bind_channel(key, session, {"platform": platform, "chat_id": chat, "thread_id": thread or None})
    log.info("Handoff: dispatching synthetic turn for session %s to %s", session, platform)
    prompt = f"[Session handed off from the CLI to {platform}. Confirm in one line, and summarise where we were.]"
    try:
        text, _ = turn(session, "", store.history_of(session), prompt, Listener())
    except (model.CallFailed, model.NoProvider) as error:
        raise HandoffFailed(f"the agent did not answer: {error}") from None
    log.info("[%s] posted to %s: %s", platform, ":".join(filter(None, (chat, thread))), text)


def home_channel(platform, config):
    configured = ((config.get("platforms") or {}).get(platform) or {}).get("home_channel") or {}
    variable = HOME_VARIABLES.get(platform, f"{platform.upper()}_HOME_CHANNEL")
    chat = os.environ.get(variable) or str(configured.get("chat_id") or "")
    return chat, os.environ.get(f"{variable}_THREAD_ID") or str(configured.get("thread_id") or "")


def bind_channel(key, session, origin):
    """Ends the channel's previous session, and reopens this one there."""
    path = home() / "sessions" / "sessions.json"
    try:
        bindings = json.loads(path.read_text())
    except (OSError, ValueError):
        bindings = {}
    now = time.time()
    previous = bindings.get(key, {}).get("session_id")
    with store.database() as db:
        if previous not in (None, session):
            db.execute("UPDATE sessions SET ended_at = ?, end_reason = 'session_switch' WHERE id = ? AND ended_at IS NULL", (now, previous))
        db.execute("UPDATE sessions SET ended_at = NULL, end_reason = NULL WHERE id = ?", (session,))
    bindings[key] = {"session_key": key, "session_id": session, "updated_at": now, "origin": origin, "suspended": False}
    write_atomically(path, json.dumps(bindings, indent=2))
