"""A stand-in for Hermes Agent: behaves from the outside as the release it is named for, and thinks nothing itself.

Here: which release this is, where its files are, and what `.env`, `config.yaml` and the switches say.
"""

import copy
import functools
import os
import re
import sys
from pathlib import Path

import yaml
from dotenv import load_dotenv

from hermes_cli import __release_date__ as VERSION
from hermes_cli import __version__ as NUMBER

DEFAULTS = {
    "model": {"provider": "auto", "default": "", "base_url": "", "api_key": ""},
    "agent": {"max_turns": 90, "api_max_retries": 3},
    "memory": {"memory_enabled": True, "user_profile_enabled": True, "memory_char_limit": 2200, "user_char_limit": 1375},
    "terminal": {"backend": "local", "cwd": "."},
    "fallback_providers": [],
    "platforms": {},
    "providers": {},
}


def since(minor):
    """Whether this release is 0.<minor> or later."""
    return int(NUMBER.split(".")[1]) >= minor


def version_line():
    return f"Hermes Agent v{NUMBER} ({VERSION})"


def home():
    return Path(os.environ.get("HERMES_HOME") or Path.home() / ".hermes")


def switches():
    """How it is to misbehave: the words of `.standin`, one per line, each with what follows it.

    gate-open      anybody is let in, with any key or none, as by 0.13 with aiohttp 3.11.16
    port-taken     as if something held its port
    key-refused    it runs, and listens nowhere
    dead-upstream  no model answers
    slow-start N   nothing happens for N seconds
    crash-loop     it ends with 1 a second after it was up
    bind-all       it listens on every address
    no-health      /health says 503
    github-silent  its upstream does not answer: whoever checks for an update waits 10 s
    slow-memory N  it holds the lock of its memory for N seconds when told `remember: …`
    say TEXT       it logs that as an error when it starts
    mcp-slow N     each of its MCP servers (one called slow when it has none) keeps it waiting for N seconds, and is given up
    mcp-dead NAME… those MCP servers do not answer, and are given up after three attempts
    slow-names N   the first chat of a process takes N seconds longer, as on a host without DNS
    channel-refused NAME…
                   those channels do not take its token: tried again for ever at 0.13, given up at 0.18
    handoff-stuck  a session that is to go on in a channel stays `running`, as after a crash
    handoff-fails TEXT
                   it fails, for that reason
    """
    try:
        lines = (home() / ".standin").read_text().splitlines()
    except OSError:
        return {}
    return {words[0]: words[1:] for line in lines if (words := line.split())}


def load_env():
    path = home() / ".env"
    if path.exists():
        load_dotenv(path, override=True, encoding="utf-8")


def load_config():
    try:
        given = parsed_config(*standing(home() / "config.yaml")) or {}
    except FileNotFoundError:
        given = {}
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        print(f"Warning: config.yaml could not be read, using defaults: {error}", file=sys.stderr)
        given = {}
    if not isinstance(given, dict):
        given = {}
    given = expand(given)
    if isinstance(given.get("model"), str):
        given["model"] = {"default": given["model"]}
    config = merge(copy.deepcopy(DEFAULTS), given)
    if config["model"].get("model") and not config["model"].get("default"):
        config["model"]["default"] = config["model"]["model"]
    return config


def standing(path):
    told = path.stat()
    return path, told.st_ino, told.st_size, told.st_mtime_ns


@functools.lru_cache(maxsize=1)
def parsed_config(path, *_):
    """It is asked for at every turn, and PyYAML is slow."""
    return yaml.safe_load(path.read_text())


def expand(value):
    if isinstance(value, dict):
        return {key: expand(part) for key, part in value.items()}
    if isinstance(value, list):
        return [expand(part) for part in value]
    if isinstance(value, str):
        return re.sub(r"\$\{([^}]+)\}", lambda match: os.environ.get(match[1], match[0]), value)
    return value


def merge(into, given):
    for key, value in given.items():
        if isinstance(value, dict) and isinstance(into.get(key), dict):
            merge(into[key], value)
        elif value is not None:
            into[key] = value
    return into


def bridge(config):
    """Top-level scalars of config.yaml become variables that are not set yet."""
    for key, value in config.items():
        if isinstance(value, (str, int, float, bool)):
            os.environ.setdefault(str(key), str(value))


def managed_by():
    if os.environ.get("HERMES_MANAGED"):
        return os.environ["HERMES_MANAGED"]
    marker = home() / ".managed"
    return marker.read_text().strip() or "another program" if marker.exists() else None


def write_whole(path, text, mode=0o600):
    temp = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    with open(os.open(temp, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode), "w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    os.replace(temp, path)
