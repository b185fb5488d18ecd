"""Webhook channels: each has its own HTTP server in the gateway, most on all interfaces by default. Also `hermes webhook`."""

import json
import logging
import os
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from hermes_cli.settings import home, load_config, since, write_atomically

log = logging.getLogger("gateway.platforms.webhook")
ALL_INTERFACES = "0.0.0.0"
LOOPBACK = "127.0.0.1"

# Host variable and default host, port variable and default port.
# The webhook has no variable for its host, and at these releases Teams has no setting for it at all.
LISTENERS = {
    "webhook": (None, ALL_INTERFACES, "WEBHOOK_PORT", 8644),
    "line": ("LINE_HOST", ALL_INTERFACES, "LINE_PORT", 8646),
    "wecom_callback": ("WECOM_CALLBACK_HOST", ALL_INTERFACES, "WECOM_CALLBACK_PORT", 8645),
    "whatsapp_cloud": ("WHATSAPP_CLOUD_WEBHOOK_HOST", ALL_INTERFACES, "WHATSAPP_CLOUD_WEBHOOK_PORT", 8090),
    "teams": (None, ALL_INTERFACES, "TEAMS_PORT", 3978),
    "sms": ("SMS_WEBHOOK_HOST", LOOPBACK, "SMS_WEBHOOK_PORT", 8080),
    "bluebubbles": ("BLUEBUBBLES_WEBHOOK_HOST", LOOPBACK, "BLUEBUBBLES_WEBHOOK_PORT", 8645),
    "feishu": ("FEISHU_WEBHOOK_HOST", LOOPBACK, "FEISHU_WEBHOOK_PORT", 8765),
}

# Kept by channel name: a channel that reconnects already has its server.
servers = {}


def listens(name):
    return name in LISTENERS and (name != "feishu" or os.environ.get("FEISHU_CONNECTION_MODE") == "webhook")


def address_of(name, config):
    host_variable, host, port_variable, port = LISTENERS[name]
    extra = ((config.get("platforms") or {}).get(name) or {}).get("extra") or {}
    from_env = os.environ.get(host_variable, "") if host_variable else ""
    from_file = extra.get("host") if name != "teams" else None
    return from_env or from_file or host, int(os.environ.get(port_variable) or extra.get("port") or port)


def listen(name, config):
    """The reason it cannot listen, or None."""
    if name in servers or not listens(name):
        return None
    host, port = address_of(name, config)
    handler = type("Caller", (Receiver,), {"platform": name})
    try:
        server = ThreadingHTTPServer((host, port), handler)
    except OSError:
        log.error("[%s] Port %d already in use", name, port)
        return f"Port {port} already in use"
    servers[name] = server
    threading.Thread(target=server.serve_forever, daemon=True).start()
    log.info("[%s] Listening on %s:%d", name, host, port)
    return None


class Receiver(BaseHTTPRequestHandler):
    """Answers /health; the stand-in rejects what services would send."""

    platform = ""

    def do_GET(self):
        ok = self.path == "/health"
        self.answer(200 if ok else 404, {"status": "ok", "platform": self.platform} if ok else {"error": "Not found"})

    def do_POST(self):
        self.answer(404, {"error": "Unknown route"})

    def answer(self, status, fields):
        body = json.dumps(fields).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(body)
        self.close_connection = True

    def log_message(self, form, *args):
        pass


def command(words, usage):
    """`hermes webhook`: reads config.yaml but not the variables, and exits with 0 in every case."""
    platform = (load_config().get("platforms") or {}).get("webhook") or {}
    if words[:1] not in (["subscribe"], ["list"], ["remove"], ["test"]):
        return usage("webhook subscribe NAME|list|remove NAME|test NAME")
    if platform.get("enabled") is not True:
        print("Webhook platform is not enabled.\n\nTo set it up, add to config.yaml:\n\n  platforms:\n    webhook:\n      enabled: true")
        return 0
    saved = subscriptions()
    match words:
        case ["list"]:
            print("\n".join(saved) if saved else "No webhook subscriptions.")
        case ["subscribe", name, *_]:
            save_subscriptions({**saved, name: {"secret": "", "events": [], "prompt": ""}})
            extra = platform.get("extra") or {}
            print(f"Created webhook subscription: {name}\nURL: http://{extra.get('host') or 'localhost'}:{extra.get('port') or 8644}/webhooks/{name}")
        case ["remove", name]:
            save_subscriptions({key: entry for key, entry in saved.items() if key != name})
            print(f"Removed webhook subscription: {name}")
        case _:
            print("Sent. (A stand-in: nobody was called.)")
    return 0


def subscriptions():
    try:
        return json.loads((home() / "webhook_subscriptions.json").read_text())
    except (OSError, ValueError):
        return {}


def save_subscriptions(table):
    """Up to 0.15, the umask decides the file mode."""
    umask = os.umask(0o022)
    os.umask(umask)
    write_atomically(home() / "webhook_subscriptions.json", json.dumps(table, indent=2), 0o600 if since(16) else 0o666 & ~umask)
