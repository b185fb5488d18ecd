"""The `hermes` command. As in the real Hermes, its exit codes are unreliable: read the output."""

import json
import os
import platform
import signal
import sys
import time
from pathlib import Path

import yaml

from hermes_cli import api_settings, dashboard, gateway, logins, model, proxy, store, webhooks
from hermes_cli.settings import home, load_config, load_env, managed_by, merge, since, switches, version_line, write_atomically

STANDIN = "Stand-in: this is not Hermes Agent, but a program of clm's lab that behaves like it."
UPDATE_CHECK_HOURS = 6


def version():
    """As slow as in the real Hermes: uses CPU first, and a pipe gets the output only when all is done."""
    busy_until = time.process_time() + (0.25 if since(18) else 0.9)
    while time.process_time() < busy_until:
        pass
    print(version_line())
    print(f"Project: {Path(__file__).resolve().parent.parent}")
    print(f"Python: {platform.python_version()}")
    print("OpenAI SDK: none")
    print(STANDIN)
    check_for_update()


def check_for_update():
    """The real Hermes runs `git fetch origin` for up to 10 s, and writes the file last: a killed check is repeated."""
    path = home() / ".update_check"
    try:
        last = json.loads(path.read_text())["ts"]
    except (OSError, ValueError, KeyError):
        last = 0
    if time.time() - last >= UPDATE_CHECK_HOURS * 3600:
        if "github-silent" in switches():
            time.sleep(10)
        path.write_text(json.dumps({"ts": time.time(), "behind": 0}))
    print("Up to date")


def gateway_command(words):
    match words[:1]:
        case ["run"]:
            return gateway.run("-v" in words or "--verbose" in words, "--replace" in words)
        case ["status"]:
            pid = gateway.running_pid()
            print(f"Gateway is running (PID {pid})" if pid and Path(f"/proc/{pid}").exists() else "Gateway is not running")
        case ["stop"]:
            pid = gateway.running_pid()
            if pid is None:
                print("Gateway is not running")
            else:
                gateway.mark_planned_stop(pid)
                os.kill(pid, signal.SIGTERM)
                print("Gateway stopped")
        case _:
            return usage("gateway run|status|stop")
    return 0


def config_command(words):
    match words:
        case [] | ["show"]:
            config = load_config()
            config["model"]["api_key"] = "***" if config["model"].get("api_key") else ""
            print(f"# {home() / 'config.yaml'}")
            print(yaml.safe_dump(config, sort_keys=False), end="")
        case ["path"]:
            print(home() / "config.yaml")
        case ["env-path"]:
            print(home() / ".env")
        case ["check"]:
            print("✓ config.yaml")
        case ["set", key, value]:
            set_value(key, value)
        case _:
            return usage("config show|set KEY VALUE|path|env-path|check")
    return 0


def set_value(key, value):
    if managed_by():
        print(f"Cannot set configuration values: this Hermes installation is managed by {managed_by()}.")
        return
    if key.endswith(("_API_KEY", "_TOKEN")) or key.startswith("TERMINAL_SSH"):
        path = home() / ".env"
        lines = path.read_text().splitlines() if path.exists() else []
        other_lines = [line for line in lines if not line.startswith(f"{key}=")]
        write_atomically(path, "\n".join([*other_lines, f"{key}={value}", ""]))
    else:
        path = home() / "config.yaml"
        config = (yaml.safe_load(path.read_text()) if path.exists() else None) or {}
        for name in reversed(key.split(".")):
            value = {name: yaml.safe_load(value) if isinstance(value, str) else value}
        write_atomically(path, yaml.safe_dump(merge(config, value), sort_keys=False))
    print(f"✓ Set {key} in {path}")


def sessions_command(words):
    store.prepare()
    match words[:1]:
        case ["list"]:
            for session in store.sessions(20):
                print(f"{session['id']:<32} {session['source']:<12} {session['message_count']:>4} messages  {session['title'] or ''}")
        case ["export"]:
            export(words[1:])
        case _:
            return usage("sessions list|export FILE|-")
    return 0


def export(words):
    session_id = words[words.index("--session-id") + 1] if "--session-id" in words[:-1] else None
    target = next((word for word in words if word == "-" or not word.startswith("-") and word != session_id), "-")
    sessions = [session for session in store.sessions() if session_id in (None, session["id"])]
    if session_id and not sessions:
        print(f"Session '{session_id}' not found.")
        return
    lines = "".join(json.dumps({**session, "messages": store.messages_of(session["id"])}) + "\n" for session in sessions)
    if target == "-":
        sys.stdout.write(lines)
    else:
        Path(target).write_text(lines)
        print(f"Exported {len(sessions)} sessions to {target}")


def status():
    config = load_config()
    print(STANDIN)
    print(f"Provider: {model.chosen_provider(config)}")
    print(f"Model: {config['model'].get('default') or '(not set)'}")
    gateway_command(["status"])


def doctor():
    print(STANDIN)
    for name in (".env", "config.yaml", "SOUL.md", "state.db"):
        print(f"{'✓' if (home() / name).exists() else '✗'} {name}")
    try:
        print(f"✓ provider {model.resolve(load_config()).provider}")
    except model.NoProvider as error:
        print(f"✗ {error}")
    reason = api_settings.refusal(api_settings.ApiSettings(load_config()))
    print(f"✗ {reason}" if reason else "✓ api_server")


def usage(text):
    print(f"usage: hermes {text}", file=sys.stderr)
    return 2


def main():
    words = sys.argv[1:]
    load_env()
    match words[:1]:
        case ["--version" | "-V" | "version"]:
            return version() or 0
        case ["gateway"]:
            return gateway_command(words[1:])
        case ["config"]:
            return config_command(words[1:])
        case ["sessions"]:
            return sessions_command(words[1:])
        case ["status"]:
            return status() or 0
        case ["doctor"]:
            return doctor() or 0
        case ["dashboard"]:
            return dashboard.command(words[1:], usage)
        case ["proxy"] if since(14):
            return proxy.command(words[1:], usage)
        case ["login"]:
            return logins.removed()
        case ["auth"]:
            return logins.command(words[1:], usage)
        case ["webhook"]:
            return webhooks.command(words[1:], usage)
        case ["serve"] if since(18):
            return dashboard.command(words[1:], usage)
        case _:
            return usage("[--version] gateway|config|sessions|status|doctor|dashboard|proxy|login|auth|webhook   (a stand-in: it has no others)")


if __name__ == "__main__":
    sys.exit(main())
