"""The channels that services call: each has an HTTP server of its own in the gateway, most on every interface unless told otherwise."""

import json
import logging
import os
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from hermes_cli.settings import home, load_config, since, write_whole

log = logging.getLogger("gateway.platforms.webhook")
EVERYWHERE = "0.0.0.0"
LOOPBACK = "127.0.0.1"

# The variable of the address and what it is without, the same of the port.
# The webhook has no variable for its address, and at these releases Teams has no setting for it at all.
LISTENERS = {
    "webhook": (None, EVERYWHERE, "WEBHOOK_PORT", 8644),
    "line": ("LINE_HOST", EVERYWHERE, "LINE_PORT", 8646),
    "wecom_callback": ("WECOM_CALLBACK_HOST", EVERYWHERE, "WECOM_CALLBACK_PORT", 8645),
    "whatsapp_cloud": ("WHATSAPP_CLOUD_WEBHOOK_HOST", EVERYWHERE, "WHATSAPP_CLOUD_WEBHOOK_PORT", 8090),
    "teams": (None, EVERYWHERE, "TEAMS_PORT", 3978),
    "sms": ("SMS_WEBHOOK_HOST", LOOPBACK, "SMS_WEBHOOK_PORT", 8080),
    "bluebubbles": ("BLUEBUBBLES_WEBHOOK_HOST", LOOPBACK, "BLUEBUBBLES_WEBHOOK_PORT", 8645),
    "feishu": ("FEISHU_WEBHOOK_HOST", LOOPBACK, "FEISHU_WEBHOOK_PORT", 8765),
}

# A channel that is connected again has its server already.
servers = {}


def listens(name):
    return name in LISTENERS and (name != "feishu" or os.environ.get("FEISHU_CONNECTION_MODE") == "webhook")


def address_of(name, config):
    host_variable, host, port_variable, port = LISTENERS[name]
    extra = ((config.get("platforms") or {}).get(name) or {}).get("extra") or {}
    said = os.environ.get(host_variable, "") if host_variable else ""
    in_file = extra.get("host") if name != "teams" else None
    return said or in_file or host, int(os.environ.get(port_variable) or extra.get("port") or port)


def listen(name, config):
    """Why it cannot, or None."""
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
    """Only says that it is there: what services would send is nothing to a stand-in."""

    platform = ""

    def do_GET(self):
        ok = self.path == "/health"
        self.answer(200 if ok else 404, {"status": "ok", "platform": self.platform} if ok else {"error": "Not found"})

    def do_POST(self):
        self.answer(404, {"error": "Unknown route"})

    def answer(self, status, told):
        body = json.dumps(told).encode()
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
    """`hermes webhook`: goes by config.yaml alone, not by the variables, and ends with 0 whatever it finds."""
    platform = (load_config().get("platforms") or {}).get("webhook") or {}
    if words[:1] not in (["subscribe"], ["list"], ["remove"], ["test"]):
        return usage("webhook subscribe NAME|list|remove NAME|test NAME")
    if platform.get("enabled") is not True:
        print("Webhook platform is not enabled.\n\nTo set it up, add to config.yaml:\n\n  platforms:\n    webhook:\n      enabled: true")
        return 0
    kept = subscriptions()
    match words:
        case ["list"]:
            print("\n".join(kept) if kept else "No webhook subscriptions.")
        case ["subscribe", name, *_]:
            keep({**kept, name: {"secret": "", "events": [], "prompt": ""}})
            extra = platform.get("extra") or {}
            print(f"Created webhook subscription: {name}\nURL: http://{extra.get('host') or 'localhost'}:{extra.get('port') or 8644}/webhooks/{name}")
        case ["remove", name]:
            keep({other: one for other, one in kept.items() if other != name})
            print(f"Removed webhook subscription: {name}")
        case _:
            print("Sent. (A stand-in: nobody was called.)")
    return 0


def subscriptions():
    try:
        return json.loads((home() / "webhook_subscriptions.json").read_text())
    except (OSError, ValueError):
        return {}


def keep(all_of_them):
    """Up to 0.15 with whatever mode the umask leaves."""
    umask = os.umask(0o022)
    os.umask(umask)
    write_whole(home() / "webhook_subscriptions.json", json.dumps(all_of_them, indent=2), 0o600 if since(16) else 0o666 & ~umask)
