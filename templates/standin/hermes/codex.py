"""The Codex runtime, from 0.14 on: each turn runs in the real `codex app-server`, whose answer becomes the agent's.

As in the real Hermes, every request starts a new thread with only the last message: without SOUL.md, memory, the caller's
system message or earlier turns.
"""

import json
import os
import queue
import subprocess
import threading
import time
from pathlib import Path

from hermes_cli.settings import since

CLIENT = {"name": "hermes", "title": "Hermes Agent (stand-in)", "version": "0.1"}
START_TIMEOUT, TURN_TIMEOUT = 15, 600
DECLINE_RESULTS = {
    "item/commandExecution/requestApproval": {"decision": "decline"},
    "item/fileChange/requestApproval": {"decision": "decline"},
    "item/permissions/requestApproval": {"decision": "decline"},
    "mcpServer/elicitation/request": {"action": "decline"},
}


class CodexFailed(Exception):
    """Codex did not start, or ended the turn without an answer."""


def is_on(config, provider):
    return since(14) and provider == "openai-codex" and config["model"].get("openai_runtime") == "codex_app_server"


def answer(prompt):
    with AppServer() as server:
        server.call("initialize", {"clientInfo": CLIENT, "capabilities": {}}, 10)
        server.send("initialized")
        thread = server.call("thread/start", {"cwd": str(workspace())}, START_TIMEOUT)["thread"]["id"]
        server.call("turn/start", {"threadId": thread, "input": [{"type": "text", "text": prompt}]}, 10)
        return server.wait_for_answer()


def workspace():
    """The directory Codex may write to: the service's at 0.14, the agent's home later."""
    return Path.home() if since(18) else Path.cwd()


class AppServer:
    def __init__(self):
        try:
            self.process = subprocess.Popen(
                ["codex", "app-server"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=codex_environment()
            )
        except OSError as error:
            raise CodexFailed(f"codex CLI not found: {error}") from error
        self.messages = queue.Queue()
        self.last_id = 0
        threading.Thread(target=self.read_messages, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        # The real Hermes keeps it for the next turn. Codex has saved the turn by now, and a clean exit would take five seconds.
        self.process.kill()
        self.process.wait()

    def read_messages(self):
        for line in self.process.stdout:
            self.messages.put(json.loads(line))
        self.messages.put(None)

    def next_message(self, deadline):
        try:
            message = self.messages.get(timeout=max(0.0, deadline - time.monotonic()))
        except queue.Empty:
            raise CodexFailed("codex app-server did not answer in time") from None
        if message is None:
            raise CodexFailed("codex app-server ended")
        return message

    def send(self, method, **fields):
        self.process.stdin.write(json.dumps({"method": method, **fields}) + "\n")
        self.process.stdin.flush()

    def call(self, method, params, timeout):
        self.last_id += 1
        self.send(method, id=self.last_id, params=params)
        deadline = time.monotonic() + timeout
        while True:
            message = self.next_message(deadline)
            if message.get("id") != self.last_id or "method" in message:
                continue
            if "error" in message:
                raise CodexFailed(f"{method} failed: {message['error'].get('message')}")
            return message["result"]

    def wait_for_answer(self):
        """The turn's last agent message, once the turn is over. Declines every approval: no user is present."""
        text, deadline = "", time.monotonic() + TURN_TIMEOUT
        while True:
            message = self.next_message(deadline)
            method, params = message.get("method"), message.get("params") or {}
            if "id" in message and method:
                reply = {"id": message["id"], "result": DECLINE_RESULTS.get(method, {})}
                self.process.stdin.write(json.dumps(reply) + "\n")
                self.process.stdin.flush()
            elif method == "item/completed" and params.get("item", {}).get("type") == "agentMessage":
                text = params["item"].get("text") or text
            elif method == "turn/completed":
                turn = params.get("turn") or {}
                if turn.get("status") == "completed":
                    return text
                raise CodexFailed((turn.get("error") or {}).get("message") or f"the turn ended as {turn.get('status')}")


def codex_environment():
    """From 0.18 on without the API server's and the bots' variables; before, the whole environment."""
    environment = {**os.environ, "RUST_LOG": os.environ.get("RUST_LOG", "warn")}
    if since(18):
        for name in [name for name in environment if name.startswith("API_SERVER_") or name.endswith("_BOT_TOKEN")]:
            del environment[name]
    return environment
