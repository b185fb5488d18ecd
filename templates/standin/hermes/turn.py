"""One turn of the agent: the model call, tool calls, and events for a listener.

Phrases in the prompt script what a model with tools might do:

remember: …         adds that to its memory
use a tool          runs a command before it answers
run some code       calls execute_code before it answers; from 0.16 on this needs an approval, which the API cannot give
slowly              streams a word every 0.2 s
think for N seconds waits N seconds before it answers
show the variable N answers with the variable as a command of the terminal tool sees it
how many turns      answers `turns: N`, the number of user messages
log this: …         logs that as an error
trace this: …       logs that as an error with a traceback
"""

import json
import logging
import re
import threading
import time
import uuid
from contextlib import contextmanager

from hermes_cli import codex, environment, memory, model, store
from hermes_cli.logs import tag_session
from hermes_cli.settings import load_config, since, switches

log = logging.getLogger("gateway.platforms.api_server")
agent_log = logging.getLogger("run_agent")
NO_USAGE = {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}
WORD_SECONDS = 0.2


class Interrupted(Exception):
    """The client disconnected."""


class Listener:
    """Receives a turn's events; this one ignores them."""

    def on_event(self, kind, data):
        pass

    def wait(self, seconds):
        time.sleep(seconds)


counts_lock = threading.Lock()
counts = {"started": 0, "running": 0}


def running_turns():
    return counts["running"]


@contextmanager
def count_turn():
    with counts_lock:
        counts["started"] += 1
        counts["running"] += 1
        first = counts["started"] == 1
    try:
        yield first
    finally:
        with counts_lock:
            counts["running"] -= 1


def look_up_metadata():
    """A process's first chat fails to look up model metadata on a host without DNS: after 10 s or more, here after `slow-names`."""
    time.sleep(float((switches().get("slow-names") or ["0"])[0]))
    logging.getLogger("agent.model_metadata").warning(
        "Failed to fetch model metadata from OpenRouter: HTTPSConnectionPool(host='openrouter.ai', port=443): Max retries "
        "exceeded with url: /api/v1/models (Caused by NameResolutionError(\"Failed to resolve 'openrouter.ai' "
        "([Errno -3] Temporary failure in name resolution)\"))"
    )


def turn(session, extra, history, prompt, listener):
    with tag_session(session), count_turn() as first:
        if first:
            look_up_metadata()
        user_message = {"role": "user", "content": prompt}
        config = load_config()
        handle_command(prompt, config)
        system = memory.system_prompt(config, extra)
        messages = [*history, user_message]
        try:
            if match := re.search(r"think for (\d+) seconds", prompt):
                listener.wait(int(match[1]))
            text, usage, route = model.answer(config, system, merge_user_messages(messages))
            tool_messages = use_tool(listener) if "use a tool" in prompt else run_code(listener) if "run some code" in prompt else []
            if "how many turns" in prompt:
                text = f"turns: {sum(message['role'] == 'user' for message in messages)}"
            if match := re.search(r"show the variable (\w+)", prompt):
                text = environment.printenv(match[1])
            if not codex.is_on(config, route.provider):
                send_text(("\n\n" if tool_messages else "") + text, listener, "slowly" in prompt)
        except model.NoProvider as error:
            log.error("Error running agent for chat completions: %s", error)
            raise
        except model.CallFailed as error:
            log.error("%s", error)
            store.record(session, system, [user_message], None, NO_USAGE)
            raise
        except Interrupted:
            store.record(session, system, [user_message], None, NO_USAGE)
            raise
        answer = {"role": "assistant", "content": text, "finish_reason": "stop"}
        store.record(session, system, [user_message, *tool_messages, answer], route, usage)
        agent_log.info("Turn ended: model=%s tools=%d response_len=%d", route.model, len(tool_messages) // 2, len(text))
        return text, usage


def merge_user_messages(messages):
    """As the real Hermes, merges consecutive user messages for the model. They stay separate in the database."""
    merged = []
    for message in messages:
        if merged and message["role"] == merged[-1]["role"] == "user":
            merged[-1] = {**merged[-1], "content": f"{merged[-1]['content']}\n\n{message['content']}"}
        else:
            merged.append(message)
    return merged


def handle_command(prompt, config):
    command, _, rest = prompt.partition(": ")
    if command == "remember":
        log.info("memory: %s", memory.remember(rest.strip(), config))
    elif command == "log this":
        log.error("%s", rest)
    elif command == "trace this":
        try:
            raise RuntimeError(rest)
        except RuntimeError:
            log.exception("Something went wrong")


def use_tool(listener):
    return call_tool(listener, "terminal", "💻", {"command": "uname -s"}, "uname -s", "Linux\n")


def run_code(listener):
    output = {"status": "approval_required"} if since(16) else {"status": "success", "output": "1\n"}
    return call_tool(listener, "execute_code", "🐍", {"code": "print(1)"}, "print(1)", json.dumps(output))


def call_tool(listener, tool, emoji, arguments, label, output):
    call = {"id": f"call_{uuid.uuid4().hex[:24]}", "name": tool, "arguments": json.dumps(arguments)}
    progress = {"tool": tool, "emoji": emoji, "label": label, "toolCallId": call["id"], "status": "running"}
    listener.on_event("tool", progress)
    listener.on_event("call", call)
    listener.on_event("tool", {"tool": tool, "toolCallId": call["id"], "status": "completed"})
    listener.on_event("result", {**call, "output": output})
    agent_log.info("tool %s completed (0.01s, %d chars)", tool, len(output))
    function = {"name": call["name"], "arguments": call["arguments"]}
    calls = json.dumps([{"id": call["id"], "type": "function", "function": function}])
    # 0.13 does not store the tool's name.
    name = {"tool_name": tool} if since(14) else {}
    return [
        {"role": "assistant", "content": "", "tool_calls": calls, "finish_reason": "tool_calls"},
        {"role": "tool", "content": output, "tool_call_id": call["id"], **name},
    ]


def send_text(text, listener, slowly):
    if slowly:
        listener.on_event("silence", None)
    for word in re.findall(r"\s*\S+\s*", text):
        listener.on_event("text", word)
        if slowly:
            listener.wait(WORD_SECONDS)


def completion(head, text, finish, usage):
    choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": finish}
    return {**head, "object": "chat.completion", "choices": [choice], "usage": usage}


def failed(error):
    return {"completed": False, "partial": False, "failed": True, "error": error, "error_code": "agent_error"}
