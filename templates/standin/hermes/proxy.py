"""`hermes proxy`, from 0.14 on: forwards requests with the login of a subscription, for any caller, with any key or none."""

import http.client
import json
import signal
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

from hermes_cli.logins import ECHO, auth
from hermes_cli.settings import since

PORT = 8645
MAX_BODY_BYTES = 1_048_576
PATHS = ["/chat/completions", "/completions", "/embeddings", "/models"]
HOP_BY_HOP = {
    *("host", "content-length", "connection", "keep-alive", "proxy-authenticate", "proxy-authorization"),
    *("te", "trailers", "transfer-encoding", "upgrade", "authorization"),
}


class Adapter:
    def __init__(self, name, title, paths, hint):
        self.name, self.title, self.paths, self.hint = name, title, paths, hint

    def login(self):
        """The stored login, or {}."""
        stored = auth()
        if self.name == "nous":
            return (stored.get("providers") or {}).get("nous") or {}
        return next(iter((stored.get("credential_pool") or {}).get("xai-oauth") or []), {})

    def token(self):
        login = self.login()
        return login.get("agent_key") or login.get("access_token")


def adapters():
    nous = Adapter("nous", "Nous Portal", PATHS, "hermes auth add nous --type oauth")
    xai = Adapter("xai", "xAI Grok OAuth", [*PATHS, "/responses"], "hermes auth add xai-oauth --type oauth")
    return {adapter.name: adapter for adapter in ([nous, xai] if since(15) else [nous])}


def command(words, usage):
    match words[:1]:
        case ["start"]:
            return start(words[1:], usage)
        case ["status"]:
            return status()
        case ["providers" | "list"]:
            print("Available proxy upstream providers:")
            for name in sorted(adapters()):
                print(f"  {name}  — {adapters()[name].title}")
            return 0
        case _:
            return usage("proxy start|status|providers")


def status():
    print("Hermes proxy upstream adapters\n")
    for name, adapter in sorted(adapters().items()):
        expires = adapter.login().get("expires_at")
        ready = f"ready (bearer expires {expires})" if expires else "ready"
        print(f"  [{name:8s}] {adapter.title} — {ready if adapter.token() else 'not logged in'}")
    print("\nStart the proxy with: hermes proxy start [--provider <name>]")
    return 0


def start(words, usage):
    options = {"--provider": "nous", "--host": "127.0.0.1", "--port": str(PORT)}
    if len(words) % 2 or not set(words[::2]) <= set(options):
        return usage("proxy start [--provider nous] [--host 127.0.0.1] [--port 8645]")
    options.update(zip(words[::2], words[1::2]))
    available, host, port = adapters(), options["--host"], int(options["--port"])
    adapter = available.get(options["--provider"].strip().lower())
    if adapter is None:
        print(f"Error: Unknown proxy upstream provider: {options['--provider']!r}. Available: {', '.join(sorted(available))}", file=sys.stderr)
        return 2
    if not adapter.token():
        print(f"Not logged into {adapter.title}. Run `{adapter.hint}` first.", file=sys.stderr)
        return 2
    for signal_number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(signal_number, lambda *_: sys.exit(0))
    try:
        server = Server((host, port), Forwarder)
    except OSError as error:
        print(f"proxy: failed to bind {host}:{port}: {error}", file=sys.stderr)
        return 1
    server.adapter = adapter
    print(f"Starting Hermes proxy for {adapter.title}\n  Listening on:  http://{host}:{port}/v1", file=sys.stderr, flush=True)
    server.serve_forever()
    return 0


class Server(ThreadingHTTPServer):
    daemon_threads = True
    adapter: Adapter

    def handle_error(self, request, client_address):
        pass


class TooLarge(Exception):
    pass


class Forwarder(BaseHTTPRequestHandler):
    """Checks no key and logs no request."""

    protocol_version = "HTTP/1.1"
    server_version = "hermes-standin"
    # Head and chunks are separate writes; the real Hermes sends each at once, too.
    disable_nagle_algorithm = True
    server: Server

    def serve(self):
        adapter = self.server.adapter
        path, _, query = self.path.partition("?")
        if path == "/health":
            return self.send_json({"status": "ok", "upstream": adapter.title, "authenticated": bool(adapter.token())})
        if not path.startswith("/v1/"):
            return self.send(404, "404: Not Found", "text/plain; charset=utf-8")
        subpath = "/" + path.removeprefix("/v1/").lstrip("/")
        if subpath not in adapter.paths:
            allowed = ", ".join(sorted(adapter.paths))
            return self.send_error_json(404, f"Path /v1{subpath} is not forwarded by this proxy. Allowed: {allowed}", "path_not_allowed")
        login = adapter.login()
        token = adapter.token()
        if not token:
            return self.send_error_json(401, f"Not logged into {adapter.title}. Run `{adapter.hint}` first.", "upstream_auth_failed")
        try:
            body = self.read_body()
        except TooLarge as size:
            return self.send(413, f"Maximum request body size {MAX_BODY_BYTES} exceeded, actual body size {size}", "text/plain; charset=utf-8")
        self.forward(login.get("base_url") or ECHO, subpath + (f"?{query}" if query else ""), body, token)

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = do_HEAD = do_OPTIONS = serve

    def read_body(self):
        if "chunked" not in (self.headers.get("Transfer-Encoding") or "").lower():
            size = int(self.headers.get("Content-Length") or 0)
            if size > MAX_BODY_BYTES:
                raise TooLarge(size)
            return self.rfile.read(size)
        body = b""
        while size := int(self.rfile.readline().split(b";")[0], 16):
            body += self.rfile.read(size)
            self.rfile.readline()
            if len(body) > MAX_BODY_BYTES:
                raise TooLarge(len(body))
        while self.rfile.readline().strip():
            pass
        return body

    def forward(self, base, path, body, token):
        target = urlsplit(base)
        connection_class = http.client.HTTPSConnection if target.scheme == "https" else http.client.HTTPConnection
        upstream = connection_class(target.netloc, timeout=300)
        headers = {name: value for name, value in self.headers.items() if name.lower() not in HOP_BY_HOP}
        try:
            upstream.request(self.command, target.path.rstrip("/") + path, body or None, {**headers, "Authorization": f"Bearer {token}"})
            response = upstream.getresponse()
        except TimeoutError:
            return self.send_error_json(504, "upstream request timed out", "upstream_timeout")
        except (OSError, http.client.HTTPException) as error:
            return self.send_error_json(502, f"upstream connection failed: {error}", "upstream_unreachable")
        try:
            self.relay(response)
        finally:
            upstream.close()

    def relay(self, response):
        """Forwards each piece of the response as it arrives."""
        bodiless = self.command == "HEAD" or response.status in (204, 304)
        self.send_response_only(response.status)
        for name, value in response.getheaders():
            if name.lower() not in HOP_BY_HOP | {"content-encoding"}:
                self.send_header(name, value)
        if not bodiless:
            self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        while not bodiless and (piece := response.read1(65536)):
            self.wfile.write(f"{len(piece):x}\r\n".encode() + piece + b"\r\n")
        if not bodiless:
            self.wfile.write(b"0\r\n\r\n")

    def send_error_json(self, status, message, code):
        self.send_json({"error": {"message": message, "type": code, "code": code}}, status)

    def send_json(self, value, status=200):
        self.send(status, json.dumps(value), "application/json; charset=utf-8")

    def send(self, status, text, content_type):
        body = text.encode()
        self.send_response(status)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(body)))
        # The unread part of this request would be parsed as the next request.
        if status >= 400:
            self.send_header("Connection", "close")
            self.close_connection = True
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, form, *args):
        pass
