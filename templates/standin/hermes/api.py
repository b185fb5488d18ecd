"""The API server: authentication, routes, and how each release reports a failed model call."""

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
from hermes_cli.api_settings import ApiSettings, is_taken, refusal
from hermes_cli.settings import home, since, switches
from hermes_cli.turn import NO_USAGE, Listener, completion, failed, turn

log = logging.getLogger("gateway.platforms.api_server")
NAME = "[Api_Server]"
MAX_BODY_BYTES = 10_000_000


def connect(settings):
    """A listening server, or None with the reason in the log."""
    reason = refusal(settings)
    if reason is None and is_taken(settings.port):
        reason = f"Port {settings.port} already in use. Set a different port in config.yaml: platforms.api_server.port"
    if reason is not None:
        log.error("%s %s", NAME, reason)
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
    settings: ApiSettings

    def __init__(self, address, handler):
        if ":" in address[0]:
            self.address_family = socket.AF_INET6
        super().__init__(address, handler)

    def handle_error(self, request, client_address):
        log.debug("a client went away", exc_info=True)


class ApiError(Exception):
    def __init__(self, status, message, error_type="invalid_request_error", code=None):
        self.status, self.message, self.error_type, self.code = status, message, error_type, code


class Api(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server_version = "hermes-standin"
    # Write each answer at once, without waiting for the ACK of the previous one.
    wbufsize = 1 << 16
    disable_nagle_algorithm = True
    server: Server

    def handle_expect_100(self):
        proceed = super().handle_expect_100()
        self.wfile.flush()
        return proceed

    def do_GET(self):
        self.serve("GET")

    def do_POST(self):
        self.serve("POST")

    def do_DELETE(self):
        self.serve("DELETE")

    def do_OPTIONS(self):
        self.serve("OPTIONS")

    def serve(self, method):
        self.extra_headers = {}
        try:
            body = self.read_body()
            if not self.origin_allowed():
                return self.send(403, b"", "text/plain")
            if method == "OPTIONS":
                return self.send(200, b"", "text/plain")
            path = urlsplit(self.path).path
            matches = [(route, match) for route in ROUTES if (match := re.fullmatch(route[1], path))]
            if not matches:
                return self.send(404, b"404: Not Found", "text/plain; charset=utf-8")
            for (verb, _, handle, needs_key), match in matches:
                if verb == method:
                    if needs_key:
                        self.check_key()
                    return handle(self, *(unquote(part) for part in match.groups()), **({"body": body} if verb == "POST" else {}))
            return self.send(405, b"405: Method Not Allowed", "text/plain; charset=utf-8")
        except ApiError as error:
            self.send_api_error(error)
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True

    def read_body(self):
        length = self.headers.get("Content-Length") or "0"
        if not length.isdigit():
            self.close_connection = True
            raise ApiError(400, "Invalid Content-Length header.", code="invalid_content_length")
        if int(length) > MAX_BODY_BYTES:
            self.close_connection = True
            raise ApiError(413, "Request body too large.", code="body_too_large")
        return self.rfile.read(int(length))

    def origin_allowed(self):
        origin = self.headers.get("Origin")
        if origin is None:
            return True
        allowed = self.server.settings.origins
        if "*" not in allowed and origin not in allowed:
            return False
        self.extra_headers["Access-Control-Allow-Origin"] = "*" if "*" in allowed else origin
        self.extra_headers["Access-Control-Allow-Methods"] = "GET, POST, DELETE, OPTIONS"
        self.extra_headers["Access-Control-Allow-Headers"] = "Authorization, Content-Type, Idempotency-Key"
        self.extra_headers["Access-Control-Max-Age"] = "600"
        self.extra_headers["Vary"] = "Origin"
        return True

    def check_key(self):
        key = self.server.settings.key
        if not key or "gate-open" in switches():
            return
        header = self.headers.get("Authorization") or ""
        if header.startswith("Bearer ") and hmac.compare_digest(header[7:].strip().encode(), key.encode()):
            return
        log.warning("API server rejected invalid API key: peer=%s path=%s", self.client_address[0], self.path)
        raise ApiError(401, "Invalid API key", code="invalid_api_key")

    def send_api_error(self, error):
        fields = {"message": error.message, "type": error.error_type, "param": None, "code": error.code}
        if error.status == 401:
            del fields["param"]
        self.send_json({"error": fields}, error.status)

    def send_json(self, value, status=200):
        self.send(status, json.dumps(value, ensure_ascii=False).encode(), "application/json; charset=utf-8")

    def send(self, status, body, content_type):
        self.send_head(status, content_type)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def send_head(self, status, content_type):
        self.send_response(status)
        headers = {"Content-Type": content_type, "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer", **self.extra_headers}
        if since(15):
            headers["Content-Security-Policy"] = "default-src 'none'; frame-ancestors 'none'"
            headers["X-Frame-Options"] = "DENY"
        for name, value in headers.items():
            self.send_header(name, re.sub(r"[\r\n]+", " ", value).encode("latin-1", "replace").decode("latin-1"))

    def log_message(self, form, *args):
        log.debug(form, *args)

    def health(self):
        if "no-health" in switches():
            return self.send_json({"status": "unavailable"}, 503)
        self.send_json({"status": "ok", "platform": "hermes-agent", **({"version": NUMBER} if since(17) else {})})

    def detailed_health(self):
        state = json.loads((home() / "gateway_state.json").read_text())
        names = ("gateway_state", "platforms", "active_agents", "exit_reason", "updated_at", "pid")
        answer = {"status": "ok", "platform": "hermes-agent", **{name: state.get(name) for name in names}}
        if since(17):
            answer["version"] = NUMBER
        if since(18):
            answer |= {"gateway_busy": False, "gateway_drainable": True}
        self.send_json(answer)

    def models(self):
        name = self.server.settings.model_name
        entry = {"id": name, "object": "model", "created": int(time.time()), "owned_by": "hermes"}
        self.send_json({"object": "list", "data": [{**entry, "permission": [], "root": name, "parent": None}]})

    def capabilities(self):
        settings = self.server.settings
        features = {"chat_completions": True, "chat_completions_streaming": True, "responses_api": True, "session_continuity_header": "X-Hermes-Session-Id"}
        if since(15):
            features["session_resources"] = True
        self.send_json(
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
        params = parse_json(body)
        messages = params.get("messages")
        if not isinstance(messages, list) or not messages:
            raise ApiError(400, "Missing or invalid 'messages' field")
        texts = [(m.get("role"), text_of(m.get("content"))) for m in messages if isinstance(m, dict)]
        system = "\n".join(text for role, text in texts if role == "system")
        turns = [{"role": role, "content": text} for role, text in texts if role in ("user", "assistant")]
        if not turns or not turns[-1]["content"]:
            raise ApiError(400, "No user message found in messages")
        session = self.requested_session()
        history = store.history_of(session) if session else turns[:-1]
        if not session:
            first_message = next((turn["content"] for turn in turns if turn["role"] == "user"), "")
            session = "api-" + hashlib.sha256(f"{system}\n{first_message}".encode()).hexdigest()[:16]
        self.extra_headers["X-Hermes-Session-Id"] = session
        head = {"id": f"chatcmpl-{uuid.uuid4().hex[:29]}", "created": int(time.time())}
        head["model"] = params.get("model") or self.server.settings.model_name
        answer = self.stream_chat if params.get("stream") else self.complete_chat
        answer(head, session, system, history, turns[-1]["content"])

    def requested_session(self):
        session = self.headers.get("X-Hermes-Session-Id", "").strip()
        if not session:
            return None
        if not self.server.settings.key:
            raise ApiError(403, "Session continuation requires API key authentication. Configure API_SERVER_KEY to enable it.")
        if re.search(r"[\r\n\0]", session) or (since(18) and (len(session) > 256 or re.search(r"[/\\]|\.\.", session))):
            raise ApiError(400, "Invalid session ID")
        return session

    def complete_chat(self, head, session, system, history, prompt):
        try:
            text, usage = turn(session, system, history, prompt, Listener())
        except model.NoProvider as error:
            raise ApiError(500, f"Internal server error: {error}", "server_error") from None
        except model.CallFailed as error:
            return self.send_chat_failure(head, str(error))
        if not text and since(14):
            self.extra_headers |= {"X-Hermes-Completed": "false", "X-Hermes-Partial": "false"}
            raise ApiError(502, "The agent produced no response.", "server_error", "agent_incomplete")
        if since(14):
            self.extra_headers |= {"X-Hermes-Completed": "true", "X-Hermes-Partial": "false"}
        self.send_json(completion(head, text or "(No response generated)", "stop", usage))

    def send_chat_failure(self, head, error):
        """Hermes reports a failed model call as an answer, with HTTP 200; at 0.13 only the text shows it."""
        if not since(14):
            return self.send_json(completion(head, error, "stop", NO_USAGE))
        self.extra_headers |= {"X-Hermes-Completed": "false", "X-Hermes-Partial": "false", "X-Hermes-Error": error[:200]}
        self.send_json({**completion(head, error, "error", NO_USAGE), "hermes": failed(error)})

    def stream_chat(self, head, session, system, history, prompt):
        head["object"] = "chat.completion.chunk"
        self.stream_events(stream.write_chat, head, session, system, history, prompt)

    def stream_events(self, write_events, *args):
        self.send_head(200, "text/event-stream")
        self.send_header("Cache-Control", "no-cache")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        write_events(self.write, *args)
        self.wfile.write(b"0\r\n\r\n")

    def write(self, text):
        data = text.encode()
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
        self.wfile.flush()

    def respond(self, body):
        params = parse_json(body)
        try:
            request = responses.ResponseRequest(params, text_of)
        except responses.BadRequest as error:
            raise ApiError(error.status, error.message) from None
        self.extra_headers["X-Hermes-Session-Id"] = request.session
        head = {"id": f"resp_{uuid.uuid4().hex[:28]}", "object": "response", "created_at": int(time.time())}
        head["model"] = params.get("model") or self.server.settings.model_name
        if params.get("stream"):
            return self.stream_events(responses.write_response, head, request)
        tools = responses.ToolListener()
        try:
            text, usage = turn(request.session, request.system, request.history, request.prompt, tools)
        except model.NoProvider as error:
            raise ApiError(500, f"Internal server error: {error}", "server_error") from None
        except model.CallFailed as error:
            # At every release, a failed call is a completed response whose text is the error.
            text, usage = str(error), NO_USAGE
        response = responses.response_object(head, [*tools.output, responses.message(text or "(No response generated)")], usage)
        responses.save(response, request, request.history_with(text))
        self.send_json(response)

    def get_response(self, response):
        stored = responses.load(response)
        if stored is None:
            raise ApiError(404, f"Response not found: {response}")
        self.send_json(stored["response"])

    def delete_response(self, response):
        if not responses.delete(response):
            raise ApiError(404, f"Response not found: {response}")
        self.send_json({"id": response, "object": "response", "deleted": True})

    def list_sessions(self):
        query = {name: values[0] for name, values in parse_qs(urlsplit(self.path).query).items()}
        try:
            limit, offset = min(int(query.get("limit", 50)), 200), int(query.get("offset", 0))
        except ValueError:
            raise ApiError(400, "limit and offset must be integers") from None
        found = store.sessions(limit + 1, offset, query.get("source"))
        data = [public_session(session) for session in found[:limit]]
        self.send_json({"object": "list", "data": data, "limit": limit, "offset": offset, "has_more": len(found) > limit})

    def get_session(self, session):
        self.send_json({"object": "hermes.session", "session": public_session(existing_session(session))})

    def get_messages(self, session):
        existing_session(session)
        fields = ("id", "role", "content", "tool_call_id", "tool_calls", "tool_name", "timestamp", "finish_reason", "reasoning")
        data = [{name: row[name] for name in fields} for row in store.messages_of(session)]
        self.send_json({"object": "list", "session_id": session, "data": data})


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


def parse_json(body):
    try:
        params = json.loads(body)
    except ValueError:
        params = None
    if not isinstance(params, dict):
        raise ApiError(400, "Invalid JSON in request body")
    return params


def text_of(content):
    if isinstance(content, str):
        return content[:65536]
    parts = [part for part in (content if isinstance(content, list) else [])[:1000] if isinstance(part, dict)]
    if any(part.get("type") in ("file", "input_file") for part in parts):
        raise ApiError(400, "Unsupported content part type: file", code="unsupported_content_type")
    images = [part.get("image_url") for part in parts if part.get("type") in ("image_url", "input_image")]
    if not all(map(is_image, images)):
        raise ApiError(400, "Image URLs must be http(s) or data:image URLs", code="invalid_image_url")
    texts = [part["text"] for part in parts if isinstance(part.get("text"), str)]
    return "\n".join(texts)[:65536] or ("[image]" if images else "")


def is_image(image):
    url = image.get("url") if isinstance(image, dict) else image
    return isinstance(url, str) and url.startswith(("http://", "https://", "data:image/"))


def existing_session(session):
    row = store.session_of(session)
    if row is None:
        raise ApiError(404, f"Session not found: {session}", code="session_not_found")
    return row


def public_session(session):
    """Without the system prompt and the model's settings: only whether they are set."""
    hidden = {f"has_{name}": bool(session.get(name)) for name in ("system_prompt", "model_config")}
    return {name: value for name, value in session.items() if f"has_{name}" not in hidden} | hidden
