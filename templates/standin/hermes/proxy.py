"""`hermes proxy`, from 0.14 on: lends the login of a subscription to whoever asks, with any key or none."""

import http.client
import json
import signal
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

from hermes_cli.logins import ECHO, auth
from hermes_cli.settings import since

PORT = 8645
LARGEST_BODY = 1_048_576
PATHS = ["/chat/completions", "/completions", "/embeddings", "/models"]
HOP_BY_HOP = {
    *("host", "content-length", "connection", "keep-alive", "proxy-authenticate", "proxy-authorization"),
    *("te", "trailers", "transfer-encoding", "upgrade", "authorization"),
}


class Adapter:
    def __init__(self, name, title, paths, hint):
        self.name, self.title, self.paths, self.hint = name, title, paths, hint

    def login(self):
        """What is stored of the login, or nothing."""
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
    return {one.name: one for one in ([nous, xai] if since(15) else [nous])}


def command(words, usage):
    match words[:1]:
        case ["start"]:
            return start(words[1:], usage)
        case ["status"]:
            return status()
        case ["providers" | "list"]:
            print("Available proxy upstream providers:")
            for one in sorted(adapters()):
                print(f"  {one}  — {adapters()[one].title}")
            return 0
        case _:
            return usage("proxy start|status|providers")


def status():
    print("Hermes proxy upstream adapters\n")
    for name, one in sorted(adapters().items()):
        expires = one.login().get("expires_at")
        ready = f"ready (bearer expires {expires})" if expires else "ready"
        print(f"  [{name:8s}] {one.title} — {ready if one.token() else 'not logged in'}")
    print("\nStart the proxy with: hermes proxy start [--provider <name>]")
    return 0


def start(words, usage):
    given = {"--provider": "nous", "--host": "127.0.0.1", "--port": str(PORT)}
    if len(words) % 2 or not set(words[::2]) <= set(given):
        return usage("proxy start [--provider nous] [--host 127.0.0.1] [--port 8645]")
    given.update(zip(words[::2], words[1::2]))
    known, host, port = adapters(), given["--host"], int(given["--port"])
    adapter = known.get(given["--provider"].strip().lower())
    if adapter is None:
        print(f"Error: Unknown proxy upstream provider: {given['--provider']!r}. Available: {', '.join(sorted(known))}", file=sys.stderr)
        return 2
    if not adapter.token():
        print(f"Not logged into {adapter.title}. Run `{adapter.hint}` first.", file=sys.stderr)
        return 2
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: sys.exit(0))
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
    """Nobody is asked for a key, and nothing is written down."""

    protocol_version = "HTTP/1.1"
    server_version = "hermes-standin"
    # Head and pieces are written apart; the real one sends each at once, too.
    disable_nagle_algorithm = True
    server: Server

    def serve(self):
        adapter = self.server.adapter
        path, _, query = self.path.partition("?")
        if path == "/health":
            return self.tell({"status": "ok", "upstream": adapter.title, "authenticated": bool(adapter.token())})
        if not path.startswith("/v1/"):
            return self.send(404, "404: Not Found", "text/plain; charset=utf-8")
        below = "/" + path.removeprefix("/v1/").lstrip("/")
        if below not in adapter.paths:
            allowed = ", ".join(sorted(adapter.paths))
            return self.refuse(404, f"Path /v1{below} is not forwarded by this proxy. Allowed: {allowed}", "path_not_allowed")
        login = adapter.login()
        token = adapter.token()
        if not token:
            return self.refuse(401, f"Not logged into {adapter.title}. Run `{adapter.hint}` first.", "upstream_auth_failed")
        try:
            body = self.body()
        except TooLarge as size:
            return self.send(413, f"Maximum request body size {LARGEST_BODY} exceeded, actual body size {size}", "text/plain; charset=utf-8")
        self.forward(login.get("base_url") or ECHO, below + (f"?{query}" if query else ""), body, token)

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = do_HEAD = do_OPTIONS = serve

    def body(self):
        if "chunked" not in (self.headers.get("Transfer-Encoding") or "").lower():
            size = int(self.headers.get("Content-Length") or 0)
            if size > LARGEST_BODY:
                raise TooLarge(size)
            return self.rfile.read(size)
        whole = b""
        while size := int(self.rfile.readline().split(b";")[0], 16):
            whole += self.rfile.read(size)
            self.rfile.readline()
            if len(whole) > LARGEST_BODY:
                raise TooLarge(len(whole))
        while self.rfile.readline().strip():
            pass
        return whole

    def forward(self, base, path, body, token):
        to = urlsplit(base)
        kind = http.client.HTTPSConnection if to.scheme == "https" else http.client.HTTPConnection
        upstream = kind(to.netloc, timeout=300)
        headers = {name: value for name, value in self.headers.items() if name.lower() not in HOP_BY_HOP}
        try:
            upstream.request(self.command, to.path.rstrip("/") + path, body or None, {**headers, "Authorization": f"Bearer {token}"})
            answer = upstream.getresponse()
        except TimeoutError:
            return self.refuse(504, "upstream request timed out", "upstream_timeout")
        except (OSError, http.client.HTTPException) as error:
            return self.refuse(502, f"upstream connection failed: {error}", "upstream_unreachable")
        try:
            self.pass_on(answer)
        finally:
            upstream.close()

    def pass_on(self, answer):
        """As it comes, piece by piece."""
        bare = self.command == "HEAD" or answer.status in (204, 304)
        self.send_response_only(answer.status)
        for name, value in answer.getheaders():
            if name.lower() not in HOP_BY_HOP | {"content-encoding"}:
                self.send_header(name, value)
        if not bare:
            self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        while not bare and (piece := answer.read1(65536)):
            self.wfile.write(f"{len(piece):x}\r\n".encode() + piece + b"\r\n")
        if not bare:
            self.wfile.write(b"0\r\n\r\n")

    def refuse(self, status, message, code):
        self.tell({"error": {"message": message, "type": code, "code": code}}, status)

    def tell(self, value, status=200):
        self.send(status, json.dumps(value), "application/json; charset=utf-8")

    def send(self, status, text, kind):
        body = text.encode()
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        # What was not read of the request would be taken for the next one.
        if status >= 400:
            self.send_header("Connection", "close")
            self.close_connection = True
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, form, *args):
        pass
