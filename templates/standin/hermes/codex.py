"""The Codex runtime, from 0.14 on: a turn goes to `codex app-server`, which is the real one, and its answer is the agent's.

As with the real Hermes, every request is a new thread that is told the last message alone: neither SOUL.md nor memory, nor
what the caller's system message or earlier turns said.
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
STARTING, TURNING = 15, 600
DECLINED = {
    "item/commandExecution/requestApproval": {"decision": "decline"},
    "item/fileChange/requestApproval": {"decision": "decline"},
    "item/permissions/requestApproval": {"decision": "decline"},
    "mcpServer/elicitation/request": {"action": "decline"},
}


class CodexFailed(Exception):
    """Codex did not start, or ended the turn without an answer."""


def is_on(config, provider):
    return since(14) and provider == "openai-codex" and config["model"].get("openai_runtime") == "codex_app_server"


def answer(said):
    with Server() as server:
        server.ask("initialize", {"clientInfo": CLIENT, "capabilities": {}}, 10)
        server.tell("initialized")
        thread = server.ask("thread/start", {"cwd": str(workspace())}, STARTING)["thread"]["id"]
        server.ask("turn/start", {"threadId": thread, "input": [{"type": "text", "text": said}]}, 10)
        return server.hear_out()


def workspace():
    """Where Codex may write: the service's directory at 0.14, the agent's home later."""
    return Path.home() if since(18) else Path.cwd()


class Server:
    def __init__(self):
        try:
            self.process = subprocess.Popen(
                ["codex", "app-server"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=kept_environment()
            )
        except OSError as error:
            raise CodexFailed(f"codex CLI not found: {error}") from error
        self.heard = queue.Queue()
        self.last = 0
        threading.Thread(target=self.listen, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        # The real one keeps it for the next turn. What was said is written down by now, and its end would take five seconds.
        self.process.kill()
        self.process.wait()

    def listen(self):
        for line in self.process.stdout:
            self.heard.put(json.loads(line))
        self.heard.put(None)

    def next(self, deadline):
        try:
            message = self.heard.get(timeout=max(0.0, deadline - time.monotonic()))
        except queue.Empty:
            raise CodexFailed("codex app-server did not answer in time") from None
        if message is None:
            raise CodexFailed("codex app-server ended")
        return message

    def tell(self, method, **more):
        self.process.stdin.write(json.dumps({"method": method, **more}) + "\n")
        self.process.stdin.flush()

    def ask(self, method, params, seconds):
        self.last += 1
        self.tell(method, id=self.last, params=params)
        deadline = time.monotonic() + seconds
        while True:
            message = self.next(deadline)
            if message.get("id") != self.last or "method" in message:
                continue
            if "error" in message:
                raise CodexFailed(f"{method} failed: {message['error'].get('message')}")
            return message["result"]

    def hear_out(self):
        """The last of the agent's messages in this turn, when the turn is over. Nobody is there to approve of anything."""
        text, deadline = "", time.monotonic() + TURNING
        while True:
            message = self.next(deadline)
            method, params = message.get("method"), message.get("params") or {}
            if "id" in message and method:
                reply = {"id": message["id"], "result": DECLINED.get(method, {})}
                self.process.stdin.write(json.dumps(reply) + "\n")
                self.process.stdin.flush()
            elif method == "item/completed" and params.get("item", {}).get("type") == "agentMessage":
                text = params["item"].get("text") or text
            elif method == "turn/completed":
                turn = params.get("turn") or {}
                if turn.get("status") == "completed":
                    return text
                raise CodexFailed((turn.get("error") or {}).get("message") or f"the turn ended as {turn.get('status')}")


def kept_environment():
    """At 0.18 what is the gateway's own does not go to Codex; before, all of it does."""
    environment = {**os.environ, "RUST_LOG": os.environ.get("RUST_LOG", "warn")}
    if since(18):
        for name in [name for name in environment if name.startswith("API_SERVER_") or name.endswith("_BOT_TOKEN")]:
            del environment[name]
    return environment
