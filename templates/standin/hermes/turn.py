"""One turn of the agent: what it is asked, what it does about it, and who listens meanwhile.

Some words in what it is asked make it do what a model with tools might:

remember: …         adds to its memory
use a tool          runs a command before it answers
run some code       calls execute_code before it answers, which from 0.16 on wants an approval that the API has no way to give
slowly              answers a word every 0.2 s
think for N seconds is silent for so long first
show the variable N answers with what a command of its terminal tool finds under that name
how many turns      answers `turns: N`, the user's turns of the conversation
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

from hermes_cli import codex, environment, mind, model, store
from hermes_cli.logs import about
from hermes_cli.settings import load_config, since, switches

log = logging.getLogger("gateway.platforms.api_server")
agent_log = logging.getLogger("run_agent")
NO_USAGE = {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}
WORD_SECONDS = 0.2


class Interrupted(Exception):
    """Whoever asked has gone."""


class Nobody:
    """Listens to nothing but the answer."""

    def hear(self, kind, what):
        pass

    def wait(self, seconds):
        time.sleep(seconds)


counting = threading.Lock()
counts = {"begun": 0, "under_way": 0}


def under_way():
    return counts["under_way"]


@contextmanager
def counted():
    with counting:
        counts["begun"] += 1
        counts["under_way"] += 1
        first = counts["begun"] == 1
    try:
        yield first
    finally:
        with counting:
            counts["under_way"] -= 1


def look_up_metadata():
    """What the first chat of a process does on a host without DNS. There it takes 10 s and more; here what a switch says."""
    time.sleep(float((switches().get("slow-names") or ["0"])[0]))
    logging.getLogger("agent.model_metadata").warning(
        "Failed to fetch model metadata from OpenRouter: HTTPSConnectionPool(host='openrouter.ai', port=443): Max retries "
        "exceeded with url: /api/v1/models (Caused by NameResolutionError(\"Failed to resolve 'openrouter.ai' "
        "([Errno -3] Temporary failure in name resolution)\"))"
    )


def turn(session, extra, history, said, listener):
    with about(session), counted() as first:
        if first:
            look_up_metadata()
        asked = {"role": "user", "content": said}
        config = load_config()
        do_as_told(said, config)
        system = mind.system_prompt(config, extra)
        shown = [*history, asked]
        try:
            if found := re.search(r"think for (\d+) seconds", said):
                listener.wait(int(found[1]))
            text, usage, route = model.answer(config, system, in_turn(shown))
            done = use_tool(listener) if "use a tool" in said else run_code(listener) if "run some code" in said else []
            if "how many turns" in said:
                text = f"turns: {sum(message['role'] == 'user' for message in shown)}"
            if found := re.search(r"show the variable (\w+)", said):
                text = environment.shown(found[1])
            if not codex.is_on(config, route.provider):
                speak(("\n\n" if done else "") + text, listener, "slowly" in said)
        except model.NoProvider as error:
            log.error("Error running agent for chat completions: %s", error)
            raise
        except model.CallFailed as error:
            log.error("%s", error)
            store.record(session, system, [asked], None, NO_USAGE)
            raise
        except Interrupted:
            store.record(session, system, [asked], None, NO_USAGE)
            raise
        answer = {"role": "assistant", "content": text, "finish_reason": "stop"}
        store.record(session, system, [asked, *done, answer], route, usage)
        agent_log.info("Turn ended: model=%s tools=%d response_len=%d", route.model, len(done) // 2, len(text))
        return text, usage


def in_turn(messages):
    """As the real one, it shows the model one message where the user said two in a row. What is kept stays two."""
    told = []
    for message in messages:
        if told and message["role"] == told[-1]["role"] == "user":
            told[-1] = {**told[-1], "content": f"{told[-1]['content']}\n\n{message['content']}"}
        else:
            told.append(message)
    return told


def do_as_told(said, config):
    word, _, rest = said.partition(": ")
    if word == "remember":
        log.info("memory: %s", mind.remember(rest.strip(), config))
    elif word == "log this":
        log.error("%s", rest)
    elif word == "trace this":
        try:
            raise RuntimeError(rest)
        except RuntimeError:
            log.exception("Something went wrong")


def use_tool(listener):
    return called(listener, "terminal", "💻", {"command": "uname -s"}, "uname -s", "Linux\n")


def run_code(listener):
    output = {"status": "approval_required"} if since(16) else {"status": "success", "output": "1\n"}
    return called(listener, "execute_code", "🐍", {"code": "print(1)"}, "print(1)", json.dumps(output))


def called(listener, tool, emoji, arguments, label, output):
    call = {"id": f"call_{uuid.uuid4().hex[:24]}", "name": tool, "arguments": json.dumps(arguments)}
    progress = {"tool": tool, "emoji": emoji, "label": label, "toolCallId": call["id"], "status": "running"}
    listener.hear("tool", progress)
    listener.hear("call", call)
    listener.hear("tool", {"tool": tool, "toolCallId": call["id"], "status": "completed"})
    listener.hear("result", {**call, "output": output})
    agent_log.info("tool %s completed (0.01s, %d chars)", tool, len(output))
    function = {"name": call["name"], "arguments": call["arguments"]}
    calls = json.dumps([{"id": call["id"], "type": "function", "function": function}])
    # 0.13 leaves the name of the tool out of its row.
    name = {"tool_name": tool} if since(14) else {}
    return [
        {"role": "assistant", "content": "", "tool_calls": calls, "finish_reason": "tool_calls"},
        {"role": "tool", "content": output, "tool_call_id": call["id"], **name},
    ]


def speak(text, listener, slowly):
    if slowly:
        listener.hear("silence", None)
    for word in re.findall(r"\s*\S+\s*", text):
        listener.hear("text", word)
        if slowly:
            listener.wait(WORD_SECONDS)


def completion(head, text, finish, usage):
    choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": finish}
    return {**head, "object": "chat.completion", "choices": [choice], "usage": usage}


def failed(error):
    return {"completed": False, "partial": False, "failed": True, "error": error, "error_code": "agent_error"}
