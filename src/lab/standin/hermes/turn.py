"""One turn of the agent: what it is asked, what it does about it, and who listens meanwhile.

Some words in what it is asked make it do what a model with tools might:

remember: …         adds to its memory
use a tool          runs a command before it answers
slowly              answers a word every 0.2 s
think for N seconds is silent for so long first
how many turns      answers `turns: N`, the user's turns of the conversation
log this: …         logs that as an error
trace this: …       logs that as an error with a traceback
"""

import json
import logging
import re
import time
import uuid

from hermes_cli import mind, model, store
from hermes_cli.logs import about
from hermes_cli.settings import load_config

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


def turn(session, extra, history, said, listener):
    with about(session):
        asked = {"role": "user", "content": said}
        config = load_config()
        do_as_told(said, config)
        system = mind.system_prompt(config, extra)
        shown = [*history, asked]
        try:
            if found := re.search(r"think for (\d+) seconds", said):
                listener.wait(int(found[1]))
            text, usage, route = model.answer(config, system, in_turn(shown))
            done = use_tool(listener) if "use a tool" in said else []
            if "how many turns" in said:
                text = f"turns: {sum(message['role'] == 'user' for message in shown)}"
            speak(text, listener, "slowly" in said)
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
    call = {"id": f"call_{uuid.uuid4().hex[:24]}", "name": "terminal", "arguments": json.dumps({"command": "uname -s"})}
    progress = {"tool": "terminal", "emoji": "💻", "label": "uname -s", "toolCallId": call["id"], "status": "running"}
    listener.hear("tool", progress)
    listener.hear("call", call)
    listener.hear("tool", {"tool": "terminal", "toolCallId": call["id"], "status": "completed"})
    listener.hear("result", {**call, "output": "Linux\n"})
    agent_log.info("tool terminal completed (0.01s, 6 chars)")
    function = {"name": call["name"], "arguments": call["arguments"]}
    calls = json.dumps([{"id": call["id"], "type": "function", "function": function}])
    return [
        {"role": "assistant", "content": "", "tool_calls": calls, "finish_reason": "tool_calls"},
        {"role": "tool", "content": "Linux\n", "tool_call_id": call["id"], "tool_name": "terminal"},
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
