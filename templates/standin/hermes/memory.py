"""The system prompt from SOUL.md and the memory files, and the memory tool."""

import fcntl
import os
import re
import time

from hermes_cli.settings import home, since, switches

IDENTITY = "You are Hermes Agent, an intelligent AI assistant. (This is a stand-in.)"
SEPARATOR = "\n§\n"
THREATS = re.compile(r"ignore (all )?previous instructions|authorized_keys|~/\.ssh|~/\.hermes/\.env|[\u200b-\u200f\u2060]", re.I)


def system_prompt(config, extra):
    memory = config["memory"]
    parts = [soul()]
    if memory.get("memory_enabled"):
        parts.append(memory_block("MEMORY.md", "MEMORY (your personal notes)", memory["memory_char_limit"]))
    if memory.get("user_profile_enabled"):
        parts.append(memory_block("USER.md", "USER PROFILE (who the user is)", memory["user_char_limit"]))
    return "\n\n".join(part for part in [*parts, extra] if part)


def soul():
    path = home() / "SOUL.md"
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        path.write_text(IDENTITY + "\n", encoding="utf-8")
        return IDENTITY
    visible = re.sub(r"<!--.*?-->", "", text, flags=re.S)
    content = [line for line in visible.splitlines() if line.strip() and not line.startswith("#")]
    return text[:20000].strip() if content else IDENTITY


def entries(name):
    try:
        text = (home() / "memories" / name).read_text(encoding="utf-8")
    except (FileNotFoundError, UnicodeDecodeError):
        return []
    return list(dict.fromkeys(entry.strip() for entry in text.replace("\r\n", "\n").split(SEPARATOR) if entry.strip()))


def memory_block(name, title, limit):
    notes = entries(name)
    if not notes:
        return ""
    size = len(SEPARATOR.join(notes))
    if since(15):
        notes = ["[BLOCKED: content matched a threat pattern]" if THREATS.search(entry) else entry for entry in notes]
    return f"{title} [{size * 100 // limit}% — {size}/{limit} chars]\n{SEPARATOR.join(notes)}"


def remember(entry, config):
    """Adds to MEMORY.md as the memory tool does: lock, re-read, write, rename. `slow-memory N` holds the lock N s."""
    path = home() / "memories" / "MEMORY.md"
    path.parent.mkdir(mode=0o700, exist_ok=True)
    limit = config["memory"]["memory_char_limit"]
    with open(f"{path}.lock", "a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        notes = entries("MEMORY.md")
        text = SEPARATOR.join([*notes, entry])
        if len(text) > limit:
            return f"Memory at {len(SEPARATOR.join(notes))}/{limit} chars. Adding this entry would exceed the limit."
        time.sleep(float((switches().get("slow-memory") or ["0"])[0]))
        temp = path.with_name(f".mem_{os.getpid()}_{time.monotonic_ns()}")
        with open(os.open(temp, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temp, path)
    return "Entry added."
