"""A model provider that needs no key: it answers with what it was told.

Speaks as much of the OpenAI API (and of Anthropic's Messages) as a client asks. systemd holds its port and starts it at
the first request; it ends when nobody has asked for a minute.

A model called fail-* answers HTTP 500, one called slow-N takes N seconds (slow-* three). http-401-* answers with that
status, wait-10-* takes so many seconds, and empty-* answers with no text. Which credential arrived is told by a
digest of it, in the header X-Echo-Authorization and in the journal: `none`, or `present:` and the first 12 hex digits of
the SHA-256 of the key alone.

Asked `What is the handoff code`, it answers with the word that an earlier message gave in `the handoff code is WORD`.
Told to `Summarise …`, it counts the messages before that, without what the system said. A token is four characters.
"""

import base64
import hashlib
import json
import re
import socket
import struct
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


def messages_in(asked):
    """All that it was told, whichever API it was told by: (role, text)."""
    before = [("system", text_of(asked.get(name))) for name in ("instructions", "system") if asked.get(name)]
    listed = asked.get("messages", asked.get("input"))
    if isinstance(listed, str):
        return [*before, ("user", listed)]
    return before + [(m.get("role"), text_of(m.get("content"))) for m in listed or [] if isinstance(m, dict)]


def answer_to(told):
    users = [at for at, (role, _) in enumerate(told) if role == "user"]
    earlier, said = (told[: users[-1]], told[users[-1]][1]) if users else ([], "")
    if "What is the handoff code" in said:
        codes = [code for _, text in earlier for code in re.findall(r"the handoff code is ([\w-]+)", text, re.I)]
        if codes:
            return f"echo: the handoff code is {codes[-1]}"
    if said.startswith("Summarise"):
        return f"echo: summary of {sum(role != 'system' for role, _ in earlier)} messages"
    return f"echo: {said}"


def tokens_in(*texts):
    return max(1, -(-sum(map(len, texts)) // 4))


def usage_of(told, text, asked="input_tokens", said="output_tokens"):
    counts = {asked: tokens_in(*(text for _, text in told)), said: tokens_in(text)}
    return {**counts, "total_tokens": sum(counts.values())}


def vector_of(text):
    digest = hashlib.sha256(json.dumps(text).encode()).digest()
    return [byte / 128 - 1 for byte in digest[:8]]


class Echo(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # An answer leaves in one write, and none waits for a receipt of the one before.
    wbufsize = 1 << 16
    disable_nagle_algorithm = True
    timeout = IDLE_SECONDS

    def handle_expect_100(self):
        told = super().handle_expect_100()
        self.wfile.flush()
        return told

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
        if slow := re.match(r"(?:slow|wait)-(\d{1,3})?", model):
            time.sleep(int(slow[1] or 3))
        if model.startswith("fail-"):
            return self.refuse(500, f"the model {model} always fails")
        if found := re.match(r"http-([45]\d\d)-", model):
            return self.refuse(int(found[1]), f"the model {model} always fails")
        speak(self, asked, model)

    def say_chat(self, asked, model):
        told = messages_in(asked)
        text = "" if model.startswith("empty-") else answer_to(told)
        usage = usage_of(told, text, "prompt_tokens", "completion_tokens")
        head = {"id": "chatcmpl-" + uuid.uuid4().hex, "created": int(time.time()), "model": model}
        if not asked.get("stream"):
            message = {"role": "assistant", "content": text}
            choice = {"index": 0, "message": message, "finish_reason": "stop"}
            return self.answer({**head, "object": "chat.completion", "choices": [choice], "usage": usage})
        head["object"] = "chat.completion.chunk"

        def chunk(delta, finish=None):
            return None, {**head, "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}

        words = [chunk({"content": piece}) for piece in pieces(text)]
        wanted = (asked.get("stream_options") or {}).get("include_usage")
        spent = [(None, {**head, "choices": [], "usage": usage})] if wanted else []
        self.stream([chunk({"role": "assistant", "content": ""}), *words, chunk({}, "stop"), *spent, (None, "[DONE]")])

    def say_response(self, asked, model):
        told = messages_in(asked)
        text = answer_to(told)
        details = {"input_tokens_details": {"cached_tokens": 0}, "output_tokens_details": {"reasoning_tokens": 0}}
        part = {"type": "output_text", "text": text, "annotations": []}
        item = {"id": "msg_" + uuid.uuid4().hex, "type": "message", "role": "assistant"}
        ready = {**item, "status": "completed", "content": [part]}
        whole = {"id": "resp_" + uuid.uuid4().hex, "object": "response", "created_at": int(time.time()), "model": model}
        done = {**whole, "status": "completed", "output": [ready], "usage": {**usage_of(told, text), **details}}
        if not asked.get("stream"):
            return self.answer(done)
        place = {"item_id": item["id"], "output_index": 0, "content_index": 0}
        events = [
            ("created", {"response": {**whole, "status": "in_progress", "output": []}}),
            ("output_item.added", {"output_index": 0, "item": {**item, "status": "in_progress", "content": []}}),
            ("content_part.added", {**place, "part": {**part, "text": ""}}),
            *[("output_text.delta", {**place, "delta": piece}) for piece in pieces(text)],
            ("output_text.done", {**place, "text": text}),
            ("content_part.done", {**place, "part": part}),
            ("output_item.done", {"output_index": 0, "item": ready}),
            ("completed", {"response": done}),
        ]
        told = [{"type": f"response.{name}", "sequence_number": at, **what} for at, (name, what) in enumerate(events)]
        self.stream([(event["type"], event) for event in told])

    def say_message(self, asked, model):
        told = messages_in(asked)
        text = answer_to(told)
        usage = usage_of(told, text)
        del usage["total_tokens"]
        whole = {"id": "msg_" + uuid.uuid4().hex, "type": "message", "role": "assistant", "model": model}
        self.answer({**whole, "content": [{"type": "text", "text": text}], "stop_reason": "end_turn", "usage": usage})

    def say_embeddings(self, asked, model):
        given = asked.get("input")
        texts = given if isinstance(given, list) and not all(isinstance(each, int) for each in given) else [given]
        packed = asked.get("encoding_format") == "base64"
        vectors = [vector_of(text) for text in texts]
        told = [base64.b64encode(struct.pack("<8f", *vector)).decode() if packed else vector for vector in vectors]
        data = [{"object": "embedding", "index": at, "embedding": each} for at, each in enumerate(told)]
        count = tokens_in(*(text if isinstance(text, str) else json.dumps(text) for text in texts))
        usage = {"prompt_tokens": count, "total_tokens": count}
        self.answer({"object": "list", "data": data, "model": model, "usage": usage})

    roads = {
        "/chat/completions": say_chat,
        "/responses": say_response,
        "/messages": say_message,
        "/embeddings": say_embeddings,
    }

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
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for name, event in events:
            data = event if isinstance(event, str) else json.dumps(event)
            text = ((f"event: {name}\n" if name else "") + f"data: {data}\n\n").encode()
            self.wfile.write(b"%x\r\n%s\r\n" % (len(text), text))
            self.wfile.flush()
        self.wfile.write(b"0\r\n\r\n")

    def begin(self, status, kind):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("X-Echo-Authorization", credential(self.headers))

    def log_error(self, *_):
        """What is refused is logged as every answer is, and a connection that nobody uses is none."""

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
