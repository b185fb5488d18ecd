"""`hermes gateway run`: one instance, its files, its platforms, and how it ends."""

import fcntl
import hashlib
import json
import logging
import os
import signal
import subprocess
import sys
import threading
import time

from hermes_cli import api, channels, handoff, logins, mcp, model, rules, store, turn
from hermes_cli.logs import start_logging
from hermes_cli.settings import bridge, home, load_config, load_env, since, switches, write_whole

log = logging.getLogger("gateway.run")
RETRY_SECONDS = 5
PRIVATE = ["cron", "sessions", "logs", "memories"]


class State:
    """gateway_state.json"""

    def __init__(self):
        self.told = {"pid": os.getpid(), "kind": "hermes-gateway", "gateway_state": "starting", "exit_reason": None}
        self.told |= {"restart_requested": False, "active_agents": 0, "platforms": {}}

    def say(self, **news):
        self.told |= news
        self.write()

    def platform(self, name, state, message=None, code="connect_failed"):
        code = None if message is None else code
        told = {"state": state, "error_code": code, "error_message": message, "updated_at": stamp()}
        self.told["platforms"][name] = told
        self.write()

    def write(self):
        """As the real one, it keeps the entries of platforms that earlier processes wrote, with their older times."""
        self.told["updated_at"] = stamp()
        platforms = {**platforms_on_disk(), **self.told["platforms"]}
        write_whole(home() / "gateway_state.json", json.dumps({**self.told, "platforms": platforms}))


def platforms_on_disk():
    try:
        return json.loads((home() / "gateway_state.json").read_text())["platforms"]
    except (OSError, ValueError, KeyError, TypeError):
        return {}


def stamp():
    return time.strftime("%Y-%m-%dT%H:%M:%S+00:00", time.gmtime())


def run(verbose, replace):
    load_env()
    config = load_config()
    bridge(config)
    make_private()
    start_logging(verbose)
    lock = only_instance(replace)
    if lock is None:
        return 1
    return Gateway(config).run()


class Gateway:
    def __init__(self, config):
        self.config = config
        self.state = State()
        self.ending = threading.Event()
        self.code = 0
        self.server = None
        self.settings = rules.Settings(config)

    def run(self):
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGUSR1):
            signal.signal(number, self.on_signal)
        write_pid()
        self.state.write()
        print("┌──────────────────────────────────────┐\n│  Hermes Gateway Starting... (stand-in) │\n└──────────────────────────────────────┘")
        print("Press Ctrl+C to stop", flush=True)
        log.info("Starting Hermes Gateway (stand-in)")
        self.ending.wait(float((switches().get("slow-start") or ["0"])[0]))
        if not self.ending.is_set():
            self.start()
        self.stop()
        return self.code

    def start(self):
        store.prepare()
        store.hold()
        keep_credentials()
        warn_as_usual()
        if said := switches().get("say"):
            log.error("%s", " ".join(said))
        mcp.discover(self.config, self.ending.wait)
        if self.ending.is_set():
            return
        for name in channels.configured(self.config):
            self.connect_channel(name)
        if self.settings.enabled:
            self.connect_api()
        platforms = self.state.told["platforms"]
        failed = {name: one["error_message"] for name, one in platforms.items() if one["state"] != "connected"}
        if not platforms:
            log.warning("No messaging platforms enabled.")
        elif len(failed) == len(platforms) and not since(15) and "key-refused" not in switches():
            reason = "; ".join(f"{name}: {why}" for name, why in failed.items())
            log.error("Gateway failed to connect any configured messaging platform: %s", reason)
            self.state.say(gateway_state="startup_failed", exit_reason=reason)
            self.code = 1
            return
        self.state.say(gateway_state="running")
        log.info("Gateway running")
        if "crash-loop" in switches():
            self.ending.wait(1)
            log.error("Unhandled exception in the gateway (a switch of the stand-in)")
            self.code = self.code or 1
            return
        if since(14):
            asked = (self.config, self.state.told["platforms"], self.ending.wait)
            threading.Thread(target=handoff.watch, args=asked, daemon=True).start()
        while not self.ending.wait(RETRY_SECONDS):
            self.reconnect()

    def reconnect(self):
        if self.settings.enabled and self.server is None:
            log.info("Reconnecting api_server")
            self.connect_api()
        for name, told in list(self.state.told["platforms"].items()):
            if name != "api_server" and told["state"] == "retrying" and not channels.is_refused(name):
                self.connect_channel(name)

    def connect_channel(self, name):
        why = channels.connect(name, self.config)
        if why is None:
            self.state.platform(name, "connected")
        elif since(18):
            self.state.platform(name, "fatal", why, "invalid_token")
        else:
            self.state.platform(name, "retrying", why)

    def connect_api(self):
        self.server = api.connect(self.settings)
        if self.server is None:
            log.warning("✗ api_server failed to connect")
            self.state.platform("api_server", "retrying", "failed to connect")
            return False
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.state.platform("api_server", "connected")
        log.info("✓ api_server connected")
        return True

    def on_signal(self, number, _frame):
        self.code = {signal.SIGINT: 0, signal.SIGUSR1: 75}.get(number, 0 if stop_was_planned() else 1)
        self.state.told["restart_requested"] = number == signal.SIGUSR1
        self.ending.set()

    def stop(self):
        if self.server:
            self.server.shutdown()
            self.server.server_close()
        # At 0.13 the worker of a model call that hangs never ends: systemd kills it at TimeoutStopSec.
        while not since(14) and turn.under_way():
            time.sleep(0.1)
        store.let_go()
        log_neighbours()
        if self.state.told["gateway_state"] != "startup_failed":
            self.state.say(gateway_state="stopped")
        if self.code == 0:
            (home() / ".clean_shutdown").touch()
        (home() / "gateway.pid").unlink(missing_ok=True)
        log.info("Gateway stopped, exiting with code %d", self.code)


def warn_as_usual():
    """What a healthy agent warns of at each start."""
    allowed = any(value for name, value in os.environ.items() if name.endswith("_ALLOWED_USERS"))
    if not allowed and os.environ.get("GATEWAY_ALLOW_ALL_USERS", "").lower() not in ("true", "1", "yes"):
        log.warning(
            "No user allowlists configured. All unauthorized users will be denied. Set GATEWAY_ALLOW_ALL_USERS=true in "
            "~/.hermes/.env to allow open access, or configure platform allowlists (e.g., TELEGRAM_ALLOWED_USERS=your_id)."
        )
    if since(18):
        logging.getLogger("tools.registry").warning("check_fn of toolset 'browser' raised; its tools are left out (stand-in)")


def make_private():
    """Whatever the modes were, the first run closes them."""
    home().mkdir(parents=True, exist_ok=True)
    for name in PRIVATE:
        (home() / name).mkdir(exist_ok=True)
    for path in [home(), *(home() / name for name in PRIVATE)]:
        path.chmod(0o700)


def only_instance(replace):
    lock = open(home() / "gateway.lock", "a")
    for _ in range(100):
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            (home() / "gateway.pid").unlink(missing_ok=True)
            return lock
        except BlockingIOError:
            pid = running_pid()
            if not replace:
                log.error("Another gateway instance is already running (PID %s).", pid)
                return None
            if pid:
                os.kill(pid, signal.SIGTERM)
            time.sleep(0.1)
    return None


def running_pid():
    try:
        return json.loads((home() / "gateway.pid").read_text())["pid"]
    except (OSError, ValueError, KeyError):
        return None


def start_time(pid):
    with open(f"/proc/{pid}/stat") as file:
        return int(file.read().rsplit(")", 1)[1].split()[19])


def write_pid():
    told = {"pid": os.getpid(), "kind": "hermes-gateway", "argv": sys.argv, "start_time": start_time(os.getpid())}
    with open(os.open(home() / "gateway.pid", os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        json.dump(told, file)


def plan_stop(pid):
    told = {"target_pid": pid, "target_start_time": start_time(pid), "written_at": time.time()}
    write_whole(home() / ".gateway-planned-stop.json", json.dumps(told))


def stop_was_planned():
    path = home() / ".gateway-planned-stop.json"
    try:
        told = json.loads(path.read_text())
        path.unlink()
        return told["target_pid"] == os.getpid() and time.time() - told["written_at"] < 60
    except (OSError, ValueError, KeyError):
        return False


def keep_credentials():
    """auth.json: at 0.13 the provider's key itself, later only a fingerprint of it."""
    pool = {}
    for provider, (_, _, names) in model.VENDORS.items():
        for name in names:
            if key := os.environ.get(name):
                mark = {"fingerprint": hashlib.sha256(key.encode()).hexdigest()[:16]}
                pool.setdefault(provider, []).append({"source": f"env:{name}", **(mark if since(18) else {"access_token": key})})
    if pool:
        logins.keep_pool(pool)


def log_neighbours():
    """What it sees of the host when it stops goes into its log, other agents' command lines too."""
    try:
        seen = subprocess.run(["ps", "aux"], capture_output=True, text=True, timeout=5, check=False).stdout
    except (OSError, subprocess.SubprocessError):
        return
    for line in seen.splitlines():
        if "hermes" in line.lower() or "gateway" in line.lower():
            log.info("process at shutdown: %s", line)
