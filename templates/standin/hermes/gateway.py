"""`hermes gateway run`: the single-instance lock, state files, platforms, and shutdown."""

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

from hermes_cli import api, api_settings, channels, handoff, logins, mcp, model, store, turn
from hermes_cli.logs import start_logging
from hermes_cli.settings import export_scalars, home, load_config, load_env, since, switches, write_atomically

log = logging.getLogger("gateway.run")
RETRY_SECONDS = 5
PRIVATE_DIRECTORIES = ["cron", "sessions", "logs", "memories"]


class State:
    """gateway_state.json"""

    def __init__(self):
        self.fields = {"pid": os.getpid(), "kind": "hermes-gateway", "gateway_state": "starting", "exit_reason": None}
        self.fields |= {"restart_requested": False, "active_agents": 0, "platforms": {}}

    def update(self, **fields):
        self.fields |= fields
        self.write()

    def set_platform(self, name, state, message=None, code="connect_failed"):
        code = None if message is None else code
        entry = {"state": state, "error_code": code, "error_message": message, "updated_at": timestamp()}
        self.fields["platforms"][name] = entry
        self.write()

    def write(self):
        """As the real Hermes, keeps the platform entries of earlier processes, with their older timestamps."""
        self.fields["updated_at"] = timestamp()
        platforms = {**platforms_on_disk(), **self.fields["platforms"]}
        write_atomically(home() / "gateway_state.json", json.dumps({**self.fields, "platforms": platforms}))


def platforms_on_disk():
    try:
        return json.loads((home() / "gateway_state.json").read_text())["platforms"]
    except (OSError, ValueError, KeyError, TypeError):
        return {}


def timestamp():
    return time.strftime("%Y-%m-%dT%H:%M:%S+00:00", time.gmtime())


def run(verbose, replace):
    load_env()
    config = load_config()
    export_scalars(config)
    create_private_directories()
    start_logging(verbose)
    lock = acquire_lock(replace)
    if lock is None:
        return 1
    return Gateway(config).run()


class Gateway:
    def __init__(self, config):
        self.config = config
        self.state = State()
        self.stopping = threading.Event()
        self.exit_code = 0
        self.server = None
        self.settings = api_settings.ApiSettings(config)

    def run(self):
        for signal_number in (signal.SIGTERM, signal.SIGINT, signal.SIGUSR1):
            signal.signal(signal_number, self.on_signal)
        write_pid()
        self.state.write()
        print("┌──────────────────────────────────────┐\n│  Hermes Gateway Starting... (stand-in) │\n└──────────────────────────────────────┘")
        print("Press Ctrl+C to stop", flush=True)
        log.info("Starting Hermes Gateway (stand-in)")
        self.stopping.wait(float((switches().get("slow-start") or ["0"])[0]))
        if not self.stopping.is_set():
            self.start()
        self.stop()
        return self.exit_code

    def start(self):
        store.prepare()
        store.keep_open()
        save_credentials()
        log_usual_warnings()
        if text := switches().get("say"):
            log.error("%s", " ".join(text))
        mcp.discover(self.config, self.stopping.wait)
        if self.stopping.is_set():
            return
        for name in channels.configured(self.config):
            self.connect_channel(name)
        if self.settings.enabled:
            self.connect_api()
        platforms = self.state.fields["platforms"]
        failed = {name: platform["error_message"] for name, platform in platforms.items() if platform["state"] != "connected"}
        if not platforms:
            log.warning("No messaging platforms enabled.")
        elif len(failed) == len(platforms) and not since(15) and "key-refused" not in switches():
            reason = "; ".join(f"{name}: {error}" for name, error in failed.items())
            log.error("Gateway failed to connect any configured messaging platform: %s", reason)
            self.state.update(gateway_state="startup_failed", exit_reason=reason)
            self.exit_code = 1
            return
        self.state.update(gateway_state="running")
        log.info("Gateway running")
        if "crash-loop" in switches():
            self.stopping.wait(1)
            log.error("Unhandled exception in the gateway (a switch of the stand-in)")
            self.exit_code = self.exit_code or 1
            return
        if since(14):
            args = (self.config, self.state.fields["platforms"], self.stopping.wait)
            threading.Thread(target=handoff.watch, args=args, daemon=True).start()
        while not self.stopping.wait(RETRY_SECONDS):
            self.reconnect()

    def reconnect(self):
        if self.settings.enabled and self.server is None:
            log.info("Reconnecting api_server")
            self.connect_api()
        for name, entry in list(self.state.fields["platforms"].items()):
            if name != "api_server" and entry["state"] == "retrying" and not channels.is_refused(name):
                self.connect_channel(name)

    def connect_channel(self, name):
        error = channels.connect(name, self.config)
        if error is None:
            self.state.set_platform(name, "connected")
        elif since(18):
            self.state.set_platform(name, "fatal", error, "invalid_token")
        else:
            self.state.set_platform(name, "retrying", error)

    def connect_api(self):
        self.server = api.connect(self.settings)
        if self.server is None:
            log.warning("✗ api_server failed to connect")
            self.state.set_platform("api_server", "retrying", "failed to connect")
            return False
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.state.set_platform("api_server", "connected")
        log.info("✓ api_server connected")
        return True

    def on_signal(self, signal_number, _frame):
        self.exit_code = {signal.SIGINT: 0, signal.SIGUSR1: 75}.get(signal_number, 0 if stop_was_planned() else 1)
        self.state.fields["restart_requested"] = signal_number == signal.SIGUSR1
        self.stopping.set()

    def stop(self):
        if self.server:
            self.server.shutdown()
            self.server.server_close()
        # At 0.13 a hung model call never ends, nor does the process: systemd kills it after TimeoutStopSec.
        while not since(14) and turn.running_turns():
            time.sleep(0.1)
        store.close()
        log_processes()
        if self.state.fields["gateway_state"] != "startup_failed":
            self.state.update(gateway_state="stopped")
        if self.exit_code == 0:
            (home() / ".clean_shutdown").touch()
        (home() / "gateway.pid").unlink(missing_ok=True)
        log.info("Gateway stopped, exiting with code %d", self.exit_code)


def log_usual_warnings():
    """Warnings that a healthy agent logs at every start."""
    allowed = any(value for name, value in os.environ.items() if name.endswith("_ALLOWED_USERS"))
    if not allowed and os.environ.get("GATEWAY_ALLOW_ALL_USERS", "").lower() not in ("true", "1", "yes"):
        log.warning(
            "No user allowlists configured. All unauthorized users will be denied. Set GATEWAY_ALLOW_ALL_USERS=true in "
            "~/.hermes/.env to allow open access, or configure platform allowlists (e.g., TELEGRAM_ALLOWED_USERS=your_id)."
        )
    if since(18):
        logging.getLogger("tools.registry").warning("check_fn of toolset 'browser' raised; its tools are left out (stand-in)")


def create_private_directories():
    """Sets mode 0700 on the directories, whatever it was before."""
    home().mkdir(parents=True, exist_ok=True)
    for name in PRIVATE_DIRECTORIES:
        (home() / name).mkdir(exist_ok=True)
    for path in [home(), *(home() / name for name in PRIVATE_DIRECTORIES)]:
        path.chmod(0o700)


def acquire_lock(replace):
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
    fields = {"pid": os.getpid(), "kind": "hermes-gateway", "argv": sys.argv, "start_time": start_time(os.getpid())}
    with open(os.open(home() / "gateway.pid", os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        json.dump(fields, file)


def mark_planned_stop(pid):
    fields = {"target_pid": pid, "target_start_time": start_time(pid), "written_at": time.time()}
    write_atomically(home() / ".gateway-planned-stop.json", json.dumps(fields))


def stop_was_planned():
    path = home() / ".gateway-planned-stop.json"
    try:
        fields = json.loads(path.read_text())
        path.unlink()
        return fields["target_pid"] == os.getpid() and time.time() - fields["written_at"] < 60
    except (OSError, ValueError, KeyError):
        return False


def save_credentials():
    """Writes auth.json: with the provider's key itself at 0.13, with only its fingerprint at 0.18."""
    pool = {}
    for provider, (_, _, names) in model.VENDORS.items():
        for name in names:
            if key := os.environ.get(name):
                fingerprint = {"fingerprint": hashlib.sha256(key.encode()).hexdigest()[:16]}
                pool.setdefault(provider, []).append({"source": f"env:{name}", **(fingerprint if since(18) else {"access_token": key})})
    if pool:
        logins.save_env_credentials(pool)


def log_processes():
    """On shutdown Hermes logs the host's processes, including other agents' command lines."""
    try:
        processes = subprocess.run(["ps", "aux"], capture_output=True, text=True, timeout=5, check=False).stdout
    except (OSError, subprocess.SubprocessError):
        return
    for line in processes.splitlines():
        if "hermes" in line.lower() or "gateway" in line.lower():
            log.info("process at shutdown: %s", line)
