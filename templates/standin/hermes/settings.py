"""A stand-in for Hermes Agent: behaves from the outside like the release it imitates, without an agent inside.

This module: the release, its home directory, and reading `.env`, `config.yaml` and the switches.
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
    """The misbehaviours that tests turn on: one per line of `.standin`, each with its arguments.

    gate-open      any key or none is accepted, as by 0.13 with aiohttp 3.11.16
    port-taken     as if another process held its port
    key-refused    it runs, but the API server refuses its key and does not listen
    dead-upstream  no model provider answers
    slow-start N   it starts N seconds late
    crash-loop     it exits with 1, a second after it is up
    bind-all       the API server listens on all interfaces
    no-health      /health answers 503
    github-silent  GitHub does not answer: a check for updates takes 10 s
    slow-memory N  `remember: …` holds the memory lock for N seconds
    say TEXT       it logs TEXT as an error when it starts
    mcp-slow N     each MCP server (one called slow if none is configured) fails after N seconds
    mcp-dead NAME… those MCP servers fail after three attempts
    slow-names N   the first chat of a process takes N seconds longer, as on a host without DNS
    channel-refused NAME…
                   those channels reject the token: 0.13 retries forever, 0.18 gives up
    handoff-stuck  a handoff stays `running`, as after a crash
    handoff-fails TEXT
                   a handoff fails with TEXT as the reason
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
        loaded = parsed_config(*file_identity(home() / "config.yaml")) or {}
    except FileNotFoundError:
        loaded = {}
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        print(f"Warning: config.yaml could not be read, using defaults: {error}", file=sys.stderr)
        loaded = {}
    if not isinstance(loaded, dict):
        loaded = {}
    loaded = expand(loaded)
    if isinstance(loaded.get("model"), str):
        loaded["model"] = {"default": loaded["model"]}
    config = merge(copy.deepcopy(DEFAULTS), loaded)
    if config["model"].get("model") and not config["model"].get("default"):
        config["model"]["default"] = config["model"]["model"]
    return config


def file_identity(path):
    stat = path.stat()
    return path, stat.st_ino, stat.st_size, stat.st_mtime_ns


@functools.lru_cache(maxsize=1)
def parsed_config(path, *_):
    """Cached: every turn reads it, and PyYAML is slow."""
    return yaml.safe_load(path.read_text())


def expand(value):
    if isinstance(value, dict):
        return {key: expand(part) for key, part in value.items()}
    if isinstance(value, list):
        return [expand(part) for part in value]
    if isinstance(value, str):
        return re.sub(r"\$\{([^}]+)\}", lambda match: os.environ.get(match[1], match[0]), value)
    return value


def merge(base, override):
    for key, value in override.items():
        if isinstance(value, dict) and isinstance(base.get(key), dict):
            merge(base[key], value)
        elif value is not None:
            base[key] = value
    return base


def export_scalars(config):
    """Top-level scalars of config.yaml become environment variables, unless already set."""
    for key, value in config.items():
        if isinstance(value, (str, int, float, bool)):
            os.environ.setdefault(str(key), str(value))


def managed_by():
    if os.environ.get("HERMES_MANAGED"):
        return os.environ["HERMES_MANAGED"]
    marker = home() / ".managed"
    return marker.read_text().strip() or "another program" if marker.exists() else None


def write_atomically(path, text, mode=0o600):
    temp = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    with open(os.open(temp, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode), "w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    os.replace(temp, path)
