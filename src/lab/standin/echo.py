"""A model provider that needs no key: it answers with what it was told.

Speaks as much of the OpenAI API (and of Anthropic's Messages) as a client asks. systemd holds its port and starts it at
the first request; it ends when nobody has asked for a minute.

A model called fail-* answers HTTP 500, one called slow-* takes three seconds. Which credential arrived is told by a
digest of it, in the header X-Echo-Authorization and in the journal: `none`, or `present:` and the first 12 hex digits of
the SHA-256 of the key alone.
"""

import hashlib
import json
import socket
import sys
import threading
import time
import uuid
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

IDLE_SECONDS = 60


def credential(headers):
    value = headers.get("Authorization") or headers.get("x-api-key")
    if value is None:
        return "none"
    key = value.split(" ", 1)[1] if value.lower().startswith("bearer ") else value
    return "present:" + hashlib.sha256(key.encode()).hexdigest()[:12]


def text_of(content):
    """Content is a text, or a list of parts some of which have one."""
    if isinstance(content, str):
        return content
    return "".join(part.get("text", "") for part in content or [] if isinstance(part, dict))


def last_user_text(messages):
    if isinstance(messages, str):
        return messages
    said = [text_of(m.get("content")) for m in messages or [] if isinstance(m, dict) and m.get("role") == "user"]
    return said[-1] if said else ""


class Echo(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        if self.path.split("?")[0].endswith("/models"):
            self.answer({"object": "list", "data": [{"id": "echo", "object": "model", "owned_by": "clm-lab"}]})
        elif self.path == "/health":
            self.answer({"status": "ok"})
        else:
            self.refuse(404, "there is nothing here")

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        speak = next((speak for end, speak in self.roads.items() if self.path.split("?")[0].endswith(end)), None)
        try:
            asked = json.loads(body)
            model = str(asked.get("model", ""))
        except (ValueError, AttributeError):
            return self.refuse(400, "the body is not a JSON object")
        if speak is None:
            return self.refuse(404, "there is nothing here")
        if model.startswith("slow-"):
            time.sleep(3)
        if model.startswith("fail-"):
            return self.refuse(500, f"the model {model} always fails")
        speak(self, asked, model)

    def say_chat(self, asked, model):
        text = "echo: " + last_user_text(asked.get("messages"))
        head = {"id": "chatcmpl-" + uuid.uuid4().hex, "created": int(time.time()), "model": model}
        if not asked.get("stream"):
            message = {"role": "assistant", "content": text}
            choice = {"index": 0, "message": message, "finish_reason": "stop"}
            usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
            return self.answer({**head, "object": "chat.completion", "choices": [choice], "usage": usage})
        head["object"] = "chat.completion.chunk"

        def chunk(delta, finish=None):
            return None, {**head, "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}

        words = [chunk({"content": piece}) for piece in pieces(text)]
        self.stream([chunk({"role": "assistant", "content": ""}), *words, chunk({}, "stop"), (None, "[DONE]")])

    def say_response(self, asked, model):
        text = "echo: " + last_user_text(asked.get("input"))
        part = {"type": "output_text", "text": text, "annotations": []}
        item = {"id": "msg_" + uuid.uuid4().hex, "type": "message", "role": "assistant", "status": "completed"}
        usage = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}
        whole = {"id": "resp_" + uuid.uuid4().hex, "object": "response", "created_at": int(time.time()), "model": model}
        done = {**whole, "status": "completed", "output": [{**item, "content": [part]}], "usage": usage}
        if not asked.get("stream"):
            return self.answer(done)
        events = [{"type": "response.created", "response": {**whole, "status": "in_progress", "output": []}}]
        events += [{"type": "response.output_text.delta", "item_id": item["id"], "delta": p} for p in pieces(text)]
        events += [{"type": "response.completed", "response": done}]
        self.stream([(event["type"], event) for event in events])

    def say_message(self, asked, model):
        text = "echo: " + last_user_text(asked.get("messages"))
        usage = {"input_tokens": 1, "output_tokens": 1}
        whole = {"id": "msg_" + uuid.uuid4().hex, "type": "message", "role": "assistant", "model": model}
        self.answer({**whole, "content": [{"type": "text", "text": text}], "stop_reason": "end_turn", "usage": usage})

    roads = {"/chat/completions": say_chat, "/responses": say_response, "/messages": say_message}

    def answer(self, value, status=200):
        body = json.dumps(value).encode()
        self.begin(status, "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def refuse(self, status, message):
        self.answer({"error": {"message": message, "type": "echo_error", "code": None}}, status)

    def stream(self, events):
        self.begin(200, "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        for name, event in events:
            data = event if isinstance(event, str) else json.dumps(event)
            self.wfile.write((f"event: {name}\n" if name else "").encode() + f"data: {data}\n\n".encode())
            self.wfile.flush()
        self.close_connection = True

    def begin(self, status, kind):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("X-Echo-Authorization", credential(self.headers))

    def log_message(self, form, *args):
        print(f"{form % args} authorization={credential(self.headers)}", file=sys.stderr, flush=True)


def pieces(text):
    return [text[at : at + 8] for at in range(0, len(text), 8)]


class Server(ThreadingHTTPServer):
    daemon_threads = True
    busy = 0
    last = time.monotonic()
    counting = threading.Lock()

    def process_request_thread(self, request, address):
        with self.counting:
            self.busy += 1
        try:
            super().process_request_thread(request, address)
        finally:
            with self.counting:
                self.busy -= 1
                self.last = time.monotonic()

    def service_actions(self):
        if self.busy == 0 and time.monotonic() - self.last > IDLE_SECONDS:
            raise SystemExit(0)


server = Server(("127.0.0.1", 0), Echo, bind_and_activate=False)
server.socket.close()
server.socket = socket.socket(fileno=3)  # systemd's
server.serve_forever()
