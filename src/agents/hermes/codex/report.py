"""What Codex says of itself on an agent's host, run there as the agent's service would run it.

One line of JSON in: program, cwd, env (what the service will have in its environment besides), auth and provider (Hermes' own
logins), thread (whether a thread is begun, and its MCP servers waited for, in seconds), sandbox (whether a command is tried
in it), still (whether nothing may be left behind). One line of JSON out. Of Codex' settings only what is named here is told:
the rest may hold secrets.
"""

import base64
import contextlib
import json
import math
import os
import queue
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time

NONCE = "CLM-CODEX "
WHY = 2000
LARGE = 4_000_000
TRIALS = {"read": (":read-only", "true"), "write": (":workspace", 'f=$(mktemp "$PWD/.clm-codex-XXXXXX") && rm -f "$f"')}
# What Codex writes as it goes, and does not go by.
PASSING = re.compile(r"sqlite|^(archived_)?sessions$|^logs?$|^tmp$|^shell_snapshots$|^history\.jsonl$")


class Refused(Exception):
    pass


def main():
    request = json.loads(sys.stdin.readline())
    os.environ.update(request["env"])
    home = os.environ.get("CODEX_HOME") or os.path.expanduser("~/.codex")
    elsewhere, trouble = copy_of(home) if request["still"] else (home, None)
    os.environ["CODEX_HOME"] = elsewhere
    report = {"home": home, "cwd": directory(request["cwd"]), "config": os.path.lexists(os.path.join(home, "config.toml"))}
    report |= login_of(request["auth"], request["provider"])
    program = shutil.which(request["program"])
    if program:
        report |= {"program": program, **version_of(program)}
    if program and report.get("version"):
        try:
            if trouble:
                report["settings"] = {"fault": trouble}
            else:
                report |= about(program, request)
            if request["sandbox"]:
                report["sandbox_trial"] = try_sandbox(program, request["cwd"], request["sandbox"])
        except Exception as error:  # Whatever it is, somebody waits for an answer.
            report["server_fault"] = f"{type(error).__name__}: {error}"[:WHY]
    # To a copy, what it was made of are the settings of the directory it works in, of which Codex takes less.
    if elsewhere != home:
        report["warnings"] = [one for one in report.get("warnings", []) if home not in one["summary"] + one["details"]]
    # Whatever else writes here, this line is ours.
    print("\n" + NONCE + json.dumps(report).replace(elsewhere, home), flush=True)


def copy_of(home):
    """A place where Codex may write what it likes. It goes with the unit, whose /var/tmp is its own.

    Logins are the real ones: a token that Codex has renewed must not be lost. Without its settings Codex would go by others, so
    it is told when they could not be had.
    """
    trouble = None
    copy = tempfile.mkdtemp(prefix="codex-", dir="/var/tmp")
    for entry in os.scandir(home) if os.path.isdir(home) else ():
        target = os.path.join(copy, entry.name)
        try:
            if entry.name in ("auth.json", ".credentials.json"):
                os.symlink(entry.path, target)
            elif PASSING.search(entry.name):
                continue
            elif entry.name == "config.toml" or (entry.is_file() and entry.stat().st_size < LARGE):
                shutil.copy(entry.path, target)
            elif entry.is_dir():
                shutil.copytree(entry.path, target, symlinks=True)
        except (OSError, shutil.Error) as error:
            if entry.name == "config.toml":
                trouble = str(error)[:WHY]
    return copy, trouble


def directory(path):
    return {"path": path, "there": os.path.isdir(path), "readable": os.access(path, os.R_OK | os.X_OK), "writable": os.access(path, os.W_OK)}


def login_of(path, provider):
    """What is kept of the agent's own login. Hermes 0.16 keeps it below `providers`, every other release in `credential_pool`."""
    try:
        with open(path, encoding="utf-8") as file:
            stored = json.load(file)
    except (OSError, ValueError):
        return {"hermes": False}
    kept = [one for one in tokens_in(stored, provider) if isinstance(one.get("access_token"), str) and one["access_token"]]
    # The access token is renewed by the other one: only without that does its end matter.
    if any(one.get("refresh_token") or end_of(one) >= time.time() for one in kept):
        return {"hermes": True}
    return {"hermes": False, **({"hermes_expired": end_of(kept[-1])} if kept else {})}


def tokens_in(stored, provider):
    def below(value, key):
        return value.get(key) if isinstance(value, dict) else None

    pool = below(below(stored, "credential_pool"), provider)
    places = [below(below(below(stored, "providers"), provider), "tokens"), *(pool if isinstance(pool, list) else [])]
    return [one for one in places if isinstance(one, dict)]


def end_of(tokens):
    """Seconds since 1970, as the token itself says it; no end where it says nothing."""
    try:
        claims = tokens["access_token"].split(".")[1]
        return int(json.loads(base64.urlsafe_b64decode(claims + "=" * (-len(claims) % 4)))["exp"])
    except (IndexError, KeyError, TypeError, ValueError):
        return math.inf


def version_of(program):
    try:
        said = subprocess.run([program, "--version"], capture_output=True, text=True, timeout=20, check=False)
    except (OSError, subprocess.SubprocessError) as error:
        return {"broken": str(error)[:WHY]}
    found = re.search(r"\d+\.\d+\.\d+", said.stdout)
    return {"version": found[0]} if found and said.returncode == 0 else {"broken": (said.stderr or said.stdout).strip()[:WHY]}


def about(program, request):
    report = {}
    with contextlib.closing(Server(program, request["cwd"])) as server:
        try:
            server.ask("initialize", {"clientInfo": {"name": "clm", "title": "clm", "version": "1"}, "capabilities": {}}, 30)
            server.tell({"method": "initialized"})
        except Refused as error:
            return {"server_fault": (server.complaint() or str(error))[:WHY]}
        report["account"] = attempt(lambda: account(server.ask("account/read", {}, 20)))
        report["settings"] = attempt(lambda: settings(server.ask("config/read", {}, 20)))
        report["plugins"] = attempt(lambda: plugins(server.ask("plugin/list", {}, 30)))
        report["profiles"] = attempt(lambda: profiles(server))
        if request["thread"]:
            report["thread"] = attempt(lambda: thread(server.ask("thread/start", {"cwd": request["cwd"], "ephemeral": True}, 60)))
            if "fault" not in report["thread"]:
                report["servers"] = attempt(lambda: servers(server, report["settings"].get("servers", {}), request["thread"]))
        report["warnings"] = server.warnings
    return report


def attempt(work):
    try:
        return work()
    except Refused as error:
        return {"fault": str(error)[:WHY]}


def account(said):
    held = said.get("account") or {}
    return {"kind": held.get("type"), "needed": bool(said.get("requiresOpenaiAuth"))}


def settings(said):
    config = said.get("config") or {}
    listed = config.get("mcp_servers") or {}
    return {
        "model_provider": config.get("model_provider"),
        "servers": {name: one.get("enabled") is not False for name, one in listed.items()},
    }


def plugins(said):
    return {
        "listed": [
            {
                **{key: one.get(key) for key in ("name", "installed", "enabled", "availability")},
                "marketplace": market.get("name"),
            }
            for market in said.get("marketplaces") or []
            for one in market.get("plugins") or []
            if one.get("installed")
        ],
        "errors": [str(each.get("message") or each)[:WHY] for each in said.get("marketplaceLoadErrors") or []],
    }


def profiles(server):
    """Earlier ones have no list of them."""
    try:
        return [one["id"] for one in server.ask("permissionProfile/list", {}, 20).get("data") or []]
    except Refused:
        return None


def thread(said):
    active = said.get("activePermissionProfile") or {}
    sandbox = said.get("sandbox") or {}
    return {"profile": active.get("id"), "sandbox": sandbox.get("type")}


def servers(server, wanted, seconds):
    """Each that is switched on must get ready, or say why not."""
    deadline = time.monotonic() + seconds
    names = {name for name, enabled in wanted.items() if enabled}
    while not names <= {name for name, one in server.startups.items() if one["status"] in ("ready", "failed", "cancelled")}:
        if not server.listen(deadline):
            break
    listed = server.ask("mcpServerStatus/list", {}, max(5, deadline - time.monotonic())).get("data") or []
    tools = {one["name"]: sorted(one.get("tools") or {}) for one in listed}
    return [
        {"name": name, "enabled": enabled, **server.startups.get(name, {"status": "silent"}), "tools": tools.get(name, [])}
        for name, enabled in sorted(wanted.items())
    ]


def try_sandbox(program, cwd, profile):
    """A command that writes where it may: whether Codex' sandbox can be made here at all."""
    built_in, trial = TRIALS[profile]
    # Once there was a word for each system; later there is none.
    usage = subprocess.run([program, "sandbox", "--help"], capture_output=True, text=True, timeout=20, check=False).stdout
    names = ["sandbox", "linux"] if re.search(r"^\s+linux\s", usage, re.M) else ["sandbox"]
    words = [program, *names, "-c", f'default_permissions="{built_in}"', "--", "/bin/sh", "-c", trial]
    try:
        done = subprocess.run(words, capture_output=True, text=True, timeout=30, check=False, cwd=cwd, stdin=subprocess.DEVNULL)
    except subprocess.TimeoutExpired:
        return {"works": False, "why": "it did not end within 30 s"}
    except OSError as error:
        return {"works": False, "why": str(error)}
    why = "" if done.returncode == 0 else (done.stderr or done.stdout).strip()[-WHY:] or f"it ended with {done.returncode}"
    return {"works": done.returncode == 0, "why": why}


class Server:
    def __init__(self, program, cwd):
        self.errors = tempfile.TemporaryFile(mode="w+", dir="/var/tmp", errors="replace")
        self.process = subprocess.Popen(
            [program, "app-server"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors, text=True, cwd=cwd
        )
        self.heard = queue.Queue()
        self.startups = {}
        self.warnings = []
        self.last = 0
        threading.Thread(target=self.read, daemon=True).start()

    def close(self):
        # Asked to end, it takes five seconds over it. Its thread was not to be kept, and its children end with the unit.
        self.process.kill()
        self.process.wait()

    def complaint(self):
        """The last thing it said before it ended."""
        self.errors.seek(0)
        return next((line.strip() for line in reversed(self.errors.readlines()) if line.strip()), "")

    def read(self):
        for line in self.process.stdout:
            try:
                self.heard.put(json.loads(line))
            except ValueError:
                continue
        self.heard.put(None)

    def tell(self, message):
        try:
            self.process.stdin.write(json.dumps(message) + "\n")
            self.process.stdin.flush()
        except OSError as error:
            raise Refused("it ended") from error

    def listen(self, deadline):
        """One message, or nothing when there is none in time."""
        try:
            message = self.heard.get(timeout=max(0, deadline - time.monotonic()))
        except queue.Empty:
            return None
        if message is None:
            raise Refused("it ended")
        params = message.get("params") or {}
        if message.get("method") == "mcpServer/startupStatus/updated":
            self.startups[params.get("name")] = {"status": params.get("status"), "error": str(params.get("error") or "")[:WHY]}
        elif message.get("method") == "configWarning":
            self.warnings.append({"summary": str(params.get("summary"))[:WHY], "details": str(params.get("details") or "")[:WHY]})
        elif "method" in message and "id" in message:
            self.tell({"id": message["id"], "error": {"code": -32601, "message": "there is no client to answer"}})
        return message

    def ask(self, method, params, seconds):
        self.last += 1
        self.tell({"id": self.last, "method": method, "params": params})
        deadline = time.monotonic() + seconds
        while True:
            message = self.listen(deadline)
            if message is None:
                raise Refused(f"{method} was not answered within {seconds:.0f} s")
            if message.get("id") != self.last or "method" in message:
                continue
            if "error" in message:
                raise Refused(str(message["error"].get("message")))
            return message.get("result") or {}


main()
