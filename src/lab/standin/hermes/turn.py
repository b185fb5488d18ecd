"""One turn of the agent, and how it is told: a dead provider too is told as an answer."""

import logging

from hermes_cli import mind, model, store
from hermes_cli.settings import load_config

log = logging.getLogger("gateway.platforms.api_server")
NO_USAGE = {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}


def turn(session, extra, history, said):
    """One turn of the agent. `remember: …` makes it use its memory, as a model with tools might."""
    config = load_config()
    if said.startswith("remember: "):
        log.info("memory: %s", mind.remember(said.removeprefix("remember: ").strip(), config))
    system = mind.system_prompt(config, extra)
    try:
        text, usage, route = model.answer(config, system, [*history, {"role": "user", "content": said}])
    except model.NoProvider as error:
        log.error("Error running agent for chat completions: %s", error)
        raise
    except model.CallFailed as error:
        log.error("%s", error)
        store.record(session, system, [("user", said, None)], None, NO_USAGE)
        raise
    store.record(session, system, [("user", said, None), ("assistant", text, "stop")], route, usage)
    return text, usage


def completion(head, text, finish, usage):
    choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": finish}
    return {**head, "object": "chat.completion", "choices": [choice], "usage": usage}


def failed(error):
    return {"completed": False, "partial": False, "failed": True, "error": error, "error_code": "agent_error"}
