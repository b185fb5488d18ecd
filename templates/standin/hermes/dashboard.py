"""`hermes dashboard`: a web page for browsers on the same machine."""

import hmac
import html
import ipaddress
import json
import os
import secrets
import signal
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from hermes_cli import gateway, store
from hermes_cli.settings import home, since, version_line

PORT = 9119
FLAGS = {"--no-open", "--insecure", "--tui", "--stop", "--status"}
TOKEN = secrets.token_urlsafe(32)


def command(words, usage):
    """Also `hermes serve`, from 0.18 on: the same without opening a browser."""
    options = {"--port": str(PORT), "--host": "127.0.0.1"}
    flags = set()
    rest = list(words)
    while rest:
        word = rest.pop(0)
        if word in options and rest:
            options[word] = rest.pop(0)
        elif word in FLAGS:
            flags.add(word)
        else:
            return usage("dashboard [--port 9119] [--host HOST] [--no-open] [--insecure] [--tui] [--stop|--status]")
    if "--status" in flags:
        return print_status()
    if "--stop" in flags:
        return stop()
    return serve(options["--host"], int(options["--port"]), "--insecure" in flags)


def serve(host, port, insecure):
    if not is_loopback(host) and (since(18) or not insecure):
        hint = "Configure dashboard.basic_auth first." if since(18) else "Use --insecure to override."
        print(f"Refusing to bind to {host} — the dashboard exposes API keys and config without authentication. {hint}", file=sys.stderr)
        return 1
    try:
        server = ThreadingHTTPServer((host, port), Page)
    except OSError as error:
        print(f"ERROR: [Errno {error.errno}] error while attempting to bind on address ('{host}', {port})", file=sys.stderr)
        return 1
    store.prepare()
    for signal_number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(signal_number, lambda *_: sys.exit(0))
    print(f"  Hermes Web UI → http://{host}:{server.server_port}", flush=True)
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        pass
    return 0


def is_loopback(host):
    try:
        return host == "localhost" or ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


class Page(BaseHTTPRequestHandler):
    """The page contains this run's token, which its scripts send back: whoever can load the page has the token."""

    protocol_version = "HTTP/1.1"
    server_version = "hermes-standin"

    def do_GET(self):
        bound_host = self.server.server_address[0]
        requested_host = (self.headers.get("Host") or "").rsplit(":", 1)[0]
        # Against DNS rebinding: any name can resolve to this address, so only loopback names are answered.
        if is_loopback(bound_host) and not is_loopback(requested_host):
            return self.send_json({"detail": "Invalid Host header."}, 400)
        path = self.path.split("?")[0]
        if path == "/api/status":
            return self.send_json(status())
        if path.startswith("/api/"):
            if not hmac.compare_digest(self.headers.get("X-Hermes-Session-Token") or "", TOKEN):
                return self.send_json({"detail": "Unauthorized"}, 401)
            if path == "/api/sessions":
                return self.send_json({"sessions": [{"id": session["id"], "source": session["source"]} for session in store.sessions(20)]})
            return self.send_json({"detail": "Not Found"}, 404)
        self.send(200, page(), "text/html; charset=utf-8")

    def send_json(self, value, code=200):
        self.send(code, json.dumps(value), "application/json")

    def send(self, code, text, content_type):
        body = text.encode()
        self.send_response(code)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, form, *args):
        pass


def status():
    pid = gateway.running_pid()
    running = pid is not None and Path(f"/proc/{pid}").exists()
    return {"version": version_line(), "hermes_home": str(home()), "gateway_running": running, "gateway_pid": pid}


def page():
    title = html.escape(f"{version_line()} (stand-in)")
    script = f"window.__HERMES_SESSION_TOKEN__={json.dumps(TOKEN)}"
    return f"<!doctype html>\n<title>Hermes Agent - Dashboard</title>\n<script>{script}</script>\n<h1>{title}</h1>\n"


def other_dashboards():
    """Process ids of the same user's other dashboards, found by their command lines."""
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            words = (folder / "cmdline").read_text().split("\0")
            same_user = folder.stat().st_uid == os.getuid() and int(folder.name) != os.getpid()
        except OSError:
            continue
        if same_user and any("hermes" in word for word in words) and {"dashboard", "serve"} & set(words):
            yield int(folder.name)


def print_status():
    pids = list(other_dashboards())
    print("\n".join(f"Dashboard is running (PID {pid})" for pid in pids) or "No hermes dashboard processes running.")
    return 0


def stop():
    pids = list(other_dashboards())
    for pid in pids:
        os.kill(pid, signal.SIGTERM)
    print(f"Stopped {len(pids)} dashboard process(es)" if pids else "No hermes dashboard processes running.")
    return 0
