"""Reports the state of Codex on an agent's host, with the user, environment and sandbox of the agent's service.

One line of JSON in: program, cwd, env (additions to the service's environment), auth and provider (the file and the name of
Hermes' own login), thread (seconds to wait for the MCP servers of a new thread, or false for no thread), sandbox (the trial to
run in Codex' sandbox, or false), ephemeral (use a temporary copy of CODEX_HOME). One line of JSON out, with only the settings
named here: the others may contain secrets.
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

MARKER = "CLM-CODEX "
MAX_ERROR = 2000
MAX_COPIED_BYTES = 4_000_000
SANDBOX_TRIALS = {"read": (":read-only", "true"), "write": (":workspace", 'f=$(mktemp "$PWD/.clm-codex-XXXXXX") && rm -f "$f"')}
# Files that Codex writes at run time and does not need to start.
RUNTIME_FILES = re.compile(r"sqlite|^(archived_)?sessions$|^logs?$|^tmp$|^shell_snapshots$|^history\.jsonl$")


class RequestFailed(Exception):
    pass


def main():
    request = json.loads(sys.stdin.readline())
    os.environ.update(request["env"])
    home = os.environ.get("CODEX_HOME") or os.path.expanduser("~/.codex")
    codex_home, copy_error = copy_home(home) if request["ephemeral"] else (home, None)
    os.environ["CODEX_HOME"] = codex_home
    report = {"home": home, "cwd": directory_access(request["cwd"]), "config": os.path.lexists(os.path.join(home, "config.toml"))}
    report |= hermes_login(request["auth"], request["provider"])
    program = shutil.which(request["program"])
    if program:
        report |= {"program": program, **codex_version(program)}
    if program and report.get("version"):
        try:
            if copy_error:
                report["settings"] = {"fault": copy_error}
            else:
                report |= query_app_server(program, request)
            if request["sandbox"]:
                report["sandbox_trial"] = try_sandbox(program, request["cwd"], request["sandbox"])
        except Exception as error:  # The report must be printed in any case.
            report["server_fault"] = f"{type(error).__name__}: {error}"[:MAX_ERROR]
    # A Codex that runs on a copy takes the original for project settings of its working directory, and warns that it ignores
    # some of them.
    if codex_home != home:
        warnings = report.get("warnings", [])
        report["warnings"] = [each for each in warnings if home not in each["summary"] + each["details"]]
    # The marker tells this line from the output of other programs.
    print("\n" + MARKER + json.dumps(report).replace(codex_home, home), flush=True)


def copy_home(home):
    """Copies CODEX_HOME, so that Codex writes nothing to the original. The unit has a private /var/tmp, which is removed with it.

    Login files are linked instead: a token that Codex renews must not be lost. Returns also why config.toml could not be copied,
    because Codex would silently use its defaults.
    """
    error_text = None
    copy = tempfile.mkdtemp(prefix="codex-", dir="/var/tmp")
    for entry in os.scandir(home) if os.path.isdir(home) else ():
        target = os.path.join(copy, entry.name)
        try:
            if entry.name in ("auth.json", ".credentials.json"):
                os.symlink(entry.path, target)
            elif RUNTIME_FILES.search(entry.name):
                continue
            elif entry.name == "config.toml" or (entry.is_file() and entry.stat().st_size < MAX_COPIED_BYTES):
                shutil.copy(entry.path, target)
            elif entry.is_dir():
                shutil.copytree(entry.path, target, symlinks=True)
        except (OSError, shutil.Error) as error:
            if entry.name == "config.toml":
                error_text = str(error)[:MAX_ERROR]
    return copy, error_text


def directory_access(path):
    return {
        "path": path,
        "exists": os.path.isdir(path),
        "readable": os.access(path, os.R_OK | os.X_OK),
        "writable": os.access(path, os.W_OK),
    }


def hermes_login(path, provider):
    """Whether Hermes itself is logged in. Release 0.16 stores logins in `providers`, all others in `credential_pool`."""
    try:
        with open(path, encoding="utf-8") as file:
            stored = json.load(file)
    except (OSError, ValueError):
        return {"hermes": False}
    logins = [each for each in tokens_in(stored, provider) if isinstance(each.get("access_token"), str) and each["access_token"]]
    # A refresh token renews the access token, whose expiry then does not matter.
    if any(each.get("refresh_token") or expiry(each) >= time.time() for each in logins):
        return {"hermes": True}
    return {"hermes": False, **({"hermes_expired": expiry(logins[-1])} if logins else {})}


def tokens_in(stored, provider):
    def member(value, key):
        return value.get(key) if isinstance(value, dict) else None

    pool = member(member(stored, "credential_pool"), provider)
    candidates = [member(member(member(stored, "providers"), provider), "tokens"), *(pool if isinstance(pool, list) else [])]
    return [each for each in candidates if isinstance(each, dict)]


def expiry(tokens):
    """The expiry in the access token, in seconds since 1970; infinity when it has none."""
    try:
        claims = tokens["access_token"].split(".")[1]
        return int(json.loads(base64.urlsafe_b64decode(claims + "=" * (-len(claims) % 4)))["exp"])
    except (IndexError, KeyError, TypeError, ValueError):
        return math.inf


def codex_version(program):
    try:
        result = subprocess.run([program, "--version"], capture_output=True, text=True, timeout=20, check=False)
    except (OSError, subprocess.SubprocessError) as error:
        return {"broken": str(error)[:MAX_ERROR]}
    version = re.search(r"\d+\.\d+\.\d+", result.stdout)
    if version and result.returncode == 0:
        return {"version": version[0]}
    return {"broken": (result.stderr or result.stdout).strip()[:MAX_ERROR]}


def query_app_server(program, request):
    report = {}
    with contextlib.closing(AppServer(program, request["cwd"])) as server:
        try:
            server.request("initialize", {"clientInfo": {"name": "clm", "title": "clm", "version": "1"}, "capabilities": {}}, 30)
            server.send({"method": "initialized"})
        except RequestFailed as error:
            return {"server_fault": (server.last_error() or str(error))[:MAX_ERROR]}
        report["account"] = result_of(lambda: account(server.request("account/read", {}, 20)))
        report["settings"] = result_of(lambda: settings(server.request("config/read", {}, 20)))
        report["plugins"] = result_of(lambda: plugins(server.request("plugin/list", {}, 30)))
        report["profiles"] = result_of(lambda: profiles(server))
        if request["thread"]:
            options = {"cwd": request["cwd"], "ephemeral": True}
            report["thread"] = result_of(lambda: thread(server.request("thread/start", options, 60)))
            if "fault" not in report["thread"]:
                configured = report["settings"].get("servers", {})
                report["servers"] = result_of(lambda: mcp_servers(server, configured, request["thread"]))
        report["warnings"] = server.warnings
    return report


def result_of(query):
    try:
        return query()
    except RequestFailed as error:
        return {"fault": str(error)[:MAX_ERROR]}


def account(response):
    current = response.get("account") or {}
    return {"kind": current.get("type"), "needed": bool(response.get("requiresOpenaiAuth"))}


def settings(response):
    config = response.get("config") or {}
    servers = config.get("mcp_servers") or {}
    return {
        "model_provider": config.get("model_provider"),
        "servers": {name: server.get("enabled") is not False for name, server in servers.items()},
    }


def plugins(response):
    return {
        "listed": [
            {
                **{key: plugin.get(key) for key in ("name", "installed", "enabled", "availability")},
                "marketplace": marketplace.get("name"),
            }
            for marketplace in response.get("marketplaces") or []
            for plugin in marketplace.get("plugins") or []
            if plugin.get("installed")
        ],
        "errors": [str(error.get("message") or error)[:MAX_ERROR] for error in response.get("marketplaceLoadErrors") or []],
    }


def profiles(server):
    """None for older versions, which cannot list them."""
    try:
        return [profile["id"] for profile in server.request("permissionProfile/list", {}, 20).get("data") or []]
    except RequestFailed:
        return None


def thread(response):
    active = response.get("activePermissionProfile") or {}
    sandbox = response.get("sandbox") or {}
    return {"profile": active.get("id"), "sandbox": sandbox.get("type")}


def mcp_servers(server, configured, seconds):
    """Waits until every enabled MCP server is ready or has failed."""
    deadline = time.monotonic() + seconds
    names = {name for name, enabled in configured.items() if enabled}
    final = ("ready", "failed", "cancelled")
    while not names <= {name for name, startup in server.startups.items() if startup["status"] in final}:
        if not server.next_message(deadline):
            break
    listed = server.request("mcpServerStatus/list", {}, max(5, deadline - time.monotonic())).get("data") or []
    tools = {each["name"]: sorted(each.get("tools") or {}) for each in listed}
    return [
        {"name": name, "enabled": enabled, **server.startups.get(name, {"status": "unknown"}), "tools": tools.get(name, [])}
        for name, enabled in sorted(configured.items())
    ]


def try_sandbox(program, cwd, profile):
    """Runs a command in Codex' sandbox, which some hosts cannot create."""
    built_in, trial = SANDBOX_TRIALS[profile]
    # Older versions have a subcommand for each operating system.
    usage = subprocess.run([program, "sandbox", "--help"], capture_output=True, text=True, timeout=20, check=False).stdout
    subcommand = ["sandbox", "linux"] if re.search(r"^\s+linux\s", usage, re.M) else ["sandbox"]
    words = [program, *subcommand, "-c", f'default_permissions="{built_in}"', "--", "/bin/sh", "-c", trial]
    try:
        done = subprocess.run(words, capture_output=True, text=True, timeout=30, check=False, cwd=cwd, stdin=subprocess.DEVNULL)
    except subprocess.TimeoutExpired:
        return {"works": False, "why": "it did not exit within 30 s"}
    except OSError as error:
        return {"works": False, "why": str(error)}
    why = "" if done.returncode == 0 else (done.stderr or done.stdout).strip()[-MAX_ERROR:] or f"it exited with {done.returncode}"
    return {"works": done.returncode == 0, "why": why}


class AppServer:
    def __init__(self, program, cwd):
        self.errors = tempfile.TemporaryFile(mode="w+", dir="/var/tmp", errors="replace")
        self.process = subprocess.Popen(
            [program, "app-server"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors, text=True, cwd=cwd
        )
        self.messages = queue.Queue()
        self.startups = {}
        self.warnings = []
        self.last_id = 0
        threading.Thread(target=self.read, daemon=True).start()

    def close(self):
        # A regular shutdown takes five seconds. Its thread is ephemeral, and its children end with the unit.
        self.process.kill()
        self.process.wait()

    def last_error(self):
        """The last line of stderr."""
        self.errors.seek(0)
        return next((line.strip() for line in reversed(self.errors.readlines()) if line.strip()), "")

    def read(self):
        for line in self.process.stdout:
            try:
                self.messages.put(json.loads(line))
            except ValueError:
                continue
        self.messages.put(None)

    def send(self, message):
        try:
            self.process.stdin.write(json.dumps(message) + "\n")
            self.process.stdin.flush()
        except OSError as error:
            raise RequestFailed("it exited") from error

    def next_message(self, deadline):
        """The next message, or None after the deadline."""
        try:
            message = self.messages.get(timeout=max(0, deadline - time.monotonic()))
        except queue.Empty:
            return None
        if message is None:
            raise RequestFailed("it exited")
        params = message.get("params") or {}
        if message.get("method") == "mcpServer/startupStatus/updated":
            error = str(params.get("error") or "")[:MAX_ERROR]
            self.startups[params.get("name")] = {"status": params.get("status"), "error": error}
        elif message.get("method") == "configWarning":
            summary, details = str(params.get("summary")), str(params.get("details") or "")
            self.warnings.append({"summary": summary[:MAX_ERROR], "details": details[:MAX_ERROR]})
        elif "method" in message and "id" in message:
            self.send({"id": message["id"], "error": {"code": -32601, "message": "clm answers no requests"}})
        return message

    def request(self, method, params, seconds):
        self.last_id += 1
        self.send({"id": self.last_id, "method": method, "params": params})
        deadline = time.monotonic() + seconds
        while True:
            message = self.next_message(deadline)
            if message is None:
                raise RequestFailed(f"{method} was not answered within {seconds:.0f} s")
            if message.get("id") != self.last_id or "method" in message:
                continue
            if "error" in message:
                raise RequestFailed(str(message["error"].get("message")))
            return message.get("result") or {}


main()
