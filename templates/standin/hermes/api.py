"""The API server: who may ask, what is answered, and how each release tells that the model did not answer."""

import hashlib
import hmac
import json
import logging
import re
import socket
import time
import uuid
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, unquote, urlsplit

from hermes_cli import model, responses, store, stream
from hermes_cli import __version__ as NUMBER
from hermes_cli.rules import Settings, is_taken, refusal
from hermes_cli.settings import home, since, switches
from hermes_cli.turn import NO_USAGE, Nobody, completion, failed, turn

log = logging.getLogger("gateway.platforms.api_server")
NAME = "[Api_Server]"
LARGEST_BODY = 10_000_000


def connect(settings):
    """A server that listens, or None when it may not or cannot; the log says why."""
    why = refusal(settings)
    if why is None and is_taken(settings.port):
        why = f"Port {settings.port} already in use. Set a different port in config.yaml: platforms.api_server.port"
    if why is not None:
        log.error("%s %s", NAME, why)
        return None
    if not settings.key:
        log.warning("%s No API key configured (API_SERVER_KEY). All requests will be accepted without authentication.", NAME)
    host = "0.0.0.0" if "bind-all" in switches() else settings.host
    try:
        server = Server((host, settings.port), Api)
    except OSError as error:
        log.error("%s Failed to start API server: %s", NAME, error)
        return None
    server.settings = settings
    log.info("%s API server listening on http://%s:%d (model: %s)", NAME, host, settings.port, settings.model_name)
    return server


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128
    settings: Settings

    def __init__(self, address, handler):
        if ":" in address[0]:
            self.address_family = socket.AF_INET6
        super().__init__(address, handler)

    def handle_error(self, request, client_address):
        log.debug("a client went away", exc_info=True)


class Refused(Exception):
    def __init__(self, status, message, kind="invalid_request_error", code=None):
        self.status, self.message, self.kind, self.code = status, message, kind, code


class Api(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server_version = "hermes-standin"
    # An answer leaves in one write, and none waits for a receipt of the one before.
    wbufsize = 1 << 16
    disable_nagle_algorithm = True
    server: Server

    def handle_expect_100(self):
        told = super().handle_expect_100()
        self.wfile.flush()
        return told

    def do_GET(self):
        self.serve("GET")

    def do_POST(self):
        self.serve("POST")

    def do_DELETE(self):
        self.serve("DELETE")

    def do_OPTIONS(self):
        self.serve("OPTIONS")

    def serve(self, method):
        self.more = {}
        try:
            body = self.body()
            if not self.origin_allowed():
                return self.send(403, b"", "text/plain")
            if method == "OPTIONS":
                return self.send(200, b"", "text/plain")
            path = urlsplit(self.path).path
            matches = [(route, found) for route in ROUTES if (found := re.fullmatch(route[1], path))]
            if not matches:
                return self.send(404, b"404: Not Found", "text/plain; charset=utf-8")
            for (verb, _, handle, guarded), found in matches:
                if verb == method:
                    if guarded:
                        self.must_be_authorized()
                    return handle(self, *(unquote(part) for part in found.groups()), **({"body": body} if verb == "POST" else {}))
            return self.send(405, b"405: Method Not Allowed", "text/plain; charset=utf-8")
        except Refused as refused:
            self.refuse(refused)
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True

    def body(self):
        length = self.headers.get("Content-Length") or "0"
        if not length.isdigit():
            self.close_connection = True
            raise Refused(400, "Invalid Content-Length header.", code="invalid_content_length")
        if int(length) > LARGEST_BODY:
            self.close_connection = True
            raise Refused(413, "Request body too large.", code="body_too_large")
        return self.rfile.read(int(length))

    def origin_allowed(self):
        origin = self.headers.get("Origin")
        if origin is None:
            return True
        allowed = self.server.settings.origins
        if "*" not in allowed and origin not in allowed:
            return False
        self.more["Access-Control-Allow-Origin"] = "*" if "*" in allowed else origin
        self.more["Access-Control-Allow-Methods"] = "GET, POST, DELETE, OPTIONS"
        self.more["Access-Control-Allow-Headers"] = "Authorization, Content-Type, Idempotency-Key"
        self.more["Access-Control-Max-Age"] = "600"
        self.more["Vary"] = "Origin"
        return True

    def must_be_authorized(self):
        key = self.server.settings.key
        if not key or "gate-open" in switches():
            return
        given = self.headers.get("Authorization") or ""
        if given.startswith("Bearer ") and hmac.compare_digest(given[7:].strip().encode(), key.encode()):
            return
        log.warning("API server rejected invalid API key: peer=%s path=%s", self.client_address[0], self.path)
        raise Refused(401, "Invalid API key", code="invalid_api_key")

    def refuse(self, refused):
        error = {"message": refused.message, "type": refused.kind, "param": None, "code": refused.code}
        if refused.status == 401:
            del error["param"]
        self.tell({"error": error}, refused.status)

    def tell(self, value, status=200):
        self.send(status, json.dumps(value, ensure_ascii=False).encode(), "application/json; charset=utf-8")

    def send(self, status, body, kind):
        self.begin(status, kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def begin(self, status, kind):
        self.send_response(status)
        headers = {"Content-Type": kind, "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer", **self.more}
        if since(15):
            headers["Content-Security-Policy"] = "default-src 'none'; frame-ancestors 'none'"
            headers["X-Frame-Options"] = "DENY"
        for name, value in headers.items():
            self.send_header(name, re.sub(r"[\r\n]+", " ", value).encode("latin-1", "replace").decode("latin-1"))

    def log_message(self, form, *args):
        log.debug(form, *args)

    def health(self):
        if "no-health" in switches():
            return self.tell({"status": "unavailable"}, 503)
        self.tell({"status": "ok", "platform": "hermes-agent", **({"version": NUMBER} if since(17) else {})})

    def detailed_health(self):
        state = json.loads((home() / "gateway_state.json").read_text())
        shown = ("gateway_state", "platforms", "active_agents", "exit_reason", "updated_at", "pid")
        answer = {"status": "ok", "platform": "hermes-agent", **{name: state.get(name) for name in shown}}
        if since(17):
            answer["version"] = NUMBER
        if since(18):
            answer |= {"gateway_busy": False, "gateway_drainable": True}
        self.tell(answer)

    def models(self):
        name = self.server.settings.model_name
        entry = {"id": name, "object": "model", "created": int(time.time()), "owned_by": "hermes"}
        self.tell({"object": "list", "data": [{**entry, "permission": [], "root": name, "parent": None}]})

    def capabilities(self):
        settings = self.server.settings
        features = {"chat_completions": True, "chat_completions_streaming": True, "responses_api": True, "session_continuity_header": "X-Hermes-Session-Id"}
        if since(15):
            features["session_resources"] = True
        self.tell(
            {
                "object": "hermes.api_server.capabilities",
                "platform": "hermes-agent",
                "model": settings.model_name,
                "auth": {"type": "bearer", "required": bool(settings.key)},
                "runtime": {"mode": "server_agent", "standin": True},
                "features": features,
                "endpoints": {path: {"method": verb, "path": path} for verb, path, _, _ in ROUTES if "(" not in path},
            }
        )

    def chat(self, body):
        asked = parsed(body)
        messages = asked.get("messages")
        if not isinstance(messages, list) or not messages:
            raise Refused(400, "Missing or invalid 'messages' field")
        told = [(m.get("role"), text_of(m.get("content"))) for m in messages if isinstance(m, dict)]
        system = "\n".join(text for role, text in told if role == "system")
        turns = [{"role": role, "content": text} for role, text in told if role in ("user", "assistant")]
        if not turns or not turns[-1]["content"]:
            raise Refused(400, "No user message found in messages")
        session = self.session_asked()
        history = store.history_of(session) if session else turns[:-1]
        if not session:
            opening = next((turn["content"] for turn in turns if turn["role"] == "user"), "")
            session = "api-" + hashlib.sha256(f"{system}\n{opening}".encode()).hexdigest()[:16]
        self.more["X-Hermes-Session-Id"] = session
        head = {"id": f"chatcmpl-{uuid.uuid4().hex[:29]}", "created": int(time.time())}
        head["model"] = asked.get("model") or self.server.settings.model_name
        speak = self.chat_streamed if asked.get("stream") else self.chat_whole
        speak(head, session, system, history, turns[-1]["content"])

    def session_asked(self):
        asked = self.headers.get("X-Hermes-Session-Id", "").strip()
        if not asked:
            return None
        if not self.server.settings.key:
            raise Refused(403, "Session continuation requires API key authentication. Configure API_SERVER_KEY to enable it.")
        if re.search(r"[\r\n\0]", asked) or (since(18) and (len(asked) > 256 or re.search(r"[/\\]|\.\.", asked))):
            raise Refused(400, "Invalid session ID")
        return asked

    def chat_whole(self, head, session, system, history, said):
        try:
            text, usage = turn(session, system, history, said, Nobody())
        except model.NoProvider as error:
            raise Refused(500, f"Internal server error: {error}", "server_error") from None
        except model.CallFailed as error:
            return self.chat_failed(head, str(error))
        if not text and since(14):
            self.more |= {"X-Hermes-Completed": "false", "X-Hermes-Partial": "false"}
            raise Refused(502, "The agent produced no response.", "server_error", "agent_incomplete")
        if since(14):
            self.more |= {"X-Hermes-Completed": "true", "X-Hermes-Partial": "false"}
        self.tell(completion(head, text or "(No response generated)", "stop", usage))

    def chat_failed(self, head, error):
        """A dead provider is told as an answer, with HTTP 200; at 0.13 nothing but its words gives it away."""
        if not since(14):
            return self.tell(completion(head, error, "stop", NO_USAGE))
        self.more |= {"X-Hermes-Completed": "false", "X-Hermes-Partial": "false", "X-Hermes-Error": error[:200]}
        self.tell({**completion(head, error, "error", NO_USAGE), "hermes": failed(error)})

    def chat_streamed(self, head, session, system, history, said):
        head["object"] = "chat.completion.chunk"
        self.streamed(stream.tell, head, session, system, history, said)

    def streamed(self, tell, *what):
        self.begin(200, "text/event-stream")
        self.send_header("Cache-Control", "no-cache")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        tell(self.write, *what)
        self.wfile.write(b"0\r\n\r\n")

    def write(self, text):
        bytes = text.encode()
        self.wfile.write(b"%x\r\n%s\r\n" % (len(bytes), bytes))
        self.wfile.flush()

    def respond(self, body):
        asked = parsed(body)
        try:
            talk = responses.Talk(asked, text_of)
        except responses.Unusable as unusable:
            raise Refused(unusable.status, unusable.message) from None
        self.more["X-Hermes-Session-Id"] = talk.session
        head = {"id": f"resp_{uuid.uuid4().hex[:28]}", "object": "response", "created_at": int(time.time())}
        head["model"] = asked.get("model") or self.server.settings.model_name
        if asked.get("stream"):
            return self.streamed(responses.tell, head, talk)
        heard = responses.Heard()
        try:
            text, usage = turn(talk.session, talk.system, talk.history, talk.said, heard)
        except model.NoProvider as error:
            raise Refused(500, f"Internal server error: {error}", "server_error") from None
        except model.CallFailed as error:
            # A call that failed is a completed response at every release: only its words and its usage differ.
            text, usage = str(error), NO_USAGE
        done = responses.whole(head, [*heard.output, responses.message(text or "(No response generated)")], usage)
        responses.keep(done, talk, talk.after(text))
        self.tell(done)

    def get_response(self, response):
        found = responses.recall(response)
        if found is None:
            raise Refused(404, f"Response not found: {response}")
        self.tell(found["response"])

    def delete_response(self, response):
        if not responses.forget(response):
            raise Refused(404, f"Response not found: {response}")
        self.tell({"id": response, "object": "response", "deleted": True})

    def list_sessions(self):
        query = {name: values[0] for name, values in parse_qs(urlsplit(self.path).query).items()}
        try:
            limit, offset = min(int(query.get("limit", 50)), 200), int(query.get("offset", 0))
        except ValueError:
            raise Refused(400, "limit and offset must be integers") from None
        found = store.sessions(limit + 1, offset, query.get("source"))
        data = [shown(session) for session in found[:limit]]
        self.tell({"object": "list", "data": data, "limit": limit, "offset": offset, "has_more": len(found) > limit})

    def get_session(self, session):
        self.tell({"object": "hermes.session", "session": shown(known(session))})

    def get_messages(self, session):
        known(session)
        fields = ("id", "role", "content", "tool_call_id", "tool_calls", "tool_name", "timestamp", "finish_reason", "reasoning")
        data = [{name: row[name] for name in fields} for row in store.messages_of(session)]
        self.tell({"object": "list", "session_id": session, "data": data})


ROUTES = [
    ("GET", "/health", Api.health, False),
    ("GET", "/v1/health", Api.health, False),
    ("GET", "/health/detailed", Api.detailed_health, since(18)),
    ("GET", "/v1/models", Api.models, True),
    ("GET", "/v1/capabilities", Api.capabilities, True),
    ("POST", "/v1/chat/completions", Api.chat, True),
    ("POST", "/v1/responses", Api.respond, True),
    ("GET", "/v1/responses/([^/]+)", Api.get_response, True),
    ("DELETE", "/v1/responses/([^/]+)", Api.delete_response, True),
]
if since(15):
    ROUTES += [
        ("GET", "/api/sessions", Api.list_sessions, True),
        ("GET", "/api/sessions/([^/]+)", Api.get_session, True),
        ("GET", "/api/sessions/([^/]+)/messages", Api.get_messages, True),
    ]


def parsed(body):
    try:
        asked = json.loads(body)
    except ValueError:
        asked = None
    if not isinstance(asked, dict):
        raise Refused(400, "Invalid JSON in request body")
    return asked


def text_of(content):
    if isinstance(content, str):
        return content[:65536]
    parts = [part for part in (content if isinstance(content, list) else [])[:1000] if isinstance(part, dict)]
    if any(part.get("type") in ("file", "input_file") for part in parts):
        raise Refused(400, "Unsupported content part type: file", code="unsupported_content_type")
    images = [part.get("image_url") for part in parts if part.get("type") in ("image_url", "input_image")]
    if not all(map(is_image, images)):
        raise Refused(400, "Image URLs must be http(s) or data:image URLs", code="invalid_image_url")
    texts = [part["text"] for part in parts if isinstance(part.get("text"), str)]
    return "\n".join(texts)[:65536] or ("[image]" if images else "")


def is_image(told):
    url = told.get("url") if isinstance(told, dict) else told
    return isinstance(url, str) and url.startswith(("http://", "https://", "data:image/"))


def known(session):
    found = store.session_of(session)
    if found is None:
        raise Refused(404, f"Session not found: {session}", code="session_not_found")
    return found


def shown(session):
    """Never the system prompt or the model's settings: only whether there are any."""
    hidden = {f"has_{name}": bool(session.get(name)) for name in ("system_prompt", "model_config")}
    return {name: value for name, value in session.items() if f"has_{name}" not in hidden} | hidden
