"""A model provider that needs no key: it echoes the last user message.

Serves the parts of the OpenAI API (and of Anthropic's Messages API) that clients use. systemd holds its port and starts it
at the first request; it exits after a minute without requests.

The model name selects the behaviour: fail-* answers HTTP 500, http-401-* answers with that status, slow-N and wait-N-* take
N seconds (slow-* three), and empty-* returns no text. The header X-Echo-Authorization and the journal show which
credential arrived: `none`, or `present:` and the first 12 hex digits of the SHA-256 of the key alone.

Asked `What is the handoff code`, it answers with the word from an earlier message `the handoff code is WORD`.
Asked to `Summarise …`, it counts the messages before that, except system messages. A token is four characters.
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
    """Content is a string, or a list of parts, some of which have text."""
    if isinstance(content, str):
        return content
    return "".join(part.get("text", "") for part in content or [] if isinstance(part, dict))


def messages_in(request):
    """All messages of a request to any of the APIs, as (role, text)."""
    instructions = [("system", text_of(request.get(name))) for name in ("instructions", "system") if request.get(name)]
    messages = request.get("messages", request.get("input"))
    if isinstance(messages, str):
        return [*instructions, ("user", messages)]
    return instructions + [(m.get("role"), text_of(m.get("content"))) for m in messages or [] if isinstance(m, dict)]


def reply_to(messages):
    users = [index for index, (role, _) in enumerate(messages) if role == "user"]
    earlier, prompt = (messages[: users[-1]], messages[users[-1]][1]) if users else ([], "")
    if "What is the handoff code" in prompt:
        codes = [code for _, text in earlier for code in re.findall(r"the handoff code is ([\w-]+)", text, re.I)]
        if codes:
            return f"echo: the handoff code is {codes[-1]}"
    if prompt.startswith("Summarise"):
        return f"echo: summary of {sum(role != 'system' for role, _ in earlier)} messages"
    return f"echo: {prompt}"


def tokens_in(*texts):
    return max(1, -(-sum(map(len, texts)) // 4))


def usage_of(messages, text, input_name="input_tokens", output_name="output_tokens"):
    counts = {input_name: tokens_in(*(text for _, text in messages)), output_name: tokens_in(text)}
    return {**counts, "total_tokens": sum(counts.values())}


def vector_of(text):
    digest = hashlib.sha256(json.dumps(text).encode()).digest()
    return [byte / 128 - 1 for byte in digest[:8]]


class Echo(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # Write each answer at once, without waiting for the ACK of the previous one.
    wbufsize = 1 << 16
    disable_nagle_algorithm = True
    timeout = IDLE_SECONDS

    def handle_expect_100(self):
        proceed = super().handle_expect_100()
        self.wfile.flush()
        return proceed

    def do_GET(self):
        if self.path.split("?")[0].endswith("/models"):
            self.answer({"object": "list", "data": [{"id": "echo", "object": "model", "owned_by": "clm-lab"}]})
        elif self.path == "/health":
            self.answer({"status": "ok"})
        else:
            self.refuse(404, "there is nothing here")

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        handler = next((handler for suffix, handler in self.routes.items() if self.path.split("?")[0].endswith(suffix)), None)
        try:
            request = json.loads(body)
            model = str(request.get("model", ""))
        except (ValueError, AttributeError):
            return self.refuse(400, "the body is not a JSON object")
        if handler is None:
            return self.refuse(404, "there is nothing here")
        if slow := re.match(r"(?:slow|wait)-(\d{1,3})?", model):
            time.sleep(int(slow[1] or 3))
        if model.startswith("fail-"):
            return self.refuse(500, f"the model {model} always fails")
        if match := re.match(r"http-([45]\d\d)-", model):
            return self.refuse(int(match[1]), f"the model {model} always fails")
        handler(self, request, model)

    def answer_chat(self, request, model):
        messages = messages_in(request)
        text = "" if model.startswith("empty-") else reply_to(messages)
        usage = usage_of(messages, text, "prompt_tokens", "completion_tokens")
        head = {"id": "chatcmpl-" + uuid.uuid4().hex, "created": int(time.time()), "model": model}
        if not request.get("stream"):
            message = {"role": "assistant", "content": text}
            choice = {"index": 0, "message": message, "finish_reason": "stop"}
            return self.answer({**head, "object": "chat.completion", "choices": [choice], "usage": usage})
        head["object"] = "chat.completion.chunk"

        def chunk(delta, finish_reason=None):
            return None, {**head, "choices": [{"index": 0, "delta": delta, "finish_reason": finish_reason}]}

        text_chunks = [chunk({"content": piece}) for piece in pieces(text)]
        include_usage = (request.get("stream_options") or {}).get("include_usage")
        usage_chunks = [(None, {**head, "choices": [], "usage": usage})] if include_usage else []
        self.stream([chunk({"role": "assistant", "content": ""}), *text_chunks, chunk({}, "stop"), *usage_chunks, (None, "[DONE]")])

    def answer_response(self, request, model):
        messages = messages_in(request)
        text = reply_to(messages)
        details = {"input_tokens_details": {"cached_tokens": 0}, "output_tokens_details": {"reasoning_tokens": 0}}
        part = {"type": "output_text", "text": text, "annotations": []}
        item = {"id": "msg_" + uuid.uuid4().hex, "type": "message", "role": "assistant"}
        done_item = {**item, "status": "completed", "content": [part]}
        head = {"id": "resp_" + uuid.uuid4().hex, "object": "response", "created_at": int(time.time()), "model": model}
        response = {**head, "status": "completed", "output": [done_item], "usage": {**usage_of(messages, text), **details}}
        if not request.get("stream"):
            return self.answer(response)
        position = {"item_id": item["id"], "output_index": 0, "content_index": 0}
        events = [
            ("created", {"response": {**head, "status": "in_progress", "output": []}}),
            ("output_item.added", {"output_index": 0, "item": {**item, "status": "in_progress", "content": []}}),
            ("content_part.added", {**position, "part": {**part, "text": ""}}),
            *[("output_text.delta", {**position, "delta": piece}) for piece in pieces(text)],
            ("output_text.done", {**position, "text": text}),
            ("content_part.done", {**position, "part": part}),
            ("output_item.done", {"output_index": 0, "item": done_item}),
            ("completed", {"response": response}),
        ]
        numbered = [{"type": f"response.{name}", "sequence_number": number, **fields} for number, (name, fields) in enumerate(events)]
        self.stream([(event["type"], event) for event in numbered])

    def answer_message(self, request, model):
        messages = messages_in(request)
        text = reply_to(messages)
        usage = usage_of(messages, text)
        del usage["total_tokens"]
        head = {"id": "msg_" + uuid.uuid4().hex, "type": "message", "role": "assistant", "model": model}
        self.answer({**head, "content": [{"type": "text", "text": text}], "stop_reason": "end_turn", "usage": usage})

    def answer_embeddings(self, request, model):
        value = request.get("input")
        texts = value if isinstance(value, list) and not all(isinstance(each, int) for each in value) else [value]
        as_base64 = request.get("encoding_format") == "base64"
        vectors = [vector_of(text) for text in texts]
        encoded = [base64.b64encode(struct.pack("<8f", *vector)).decode() if as_base64 else vector for vector in vectors]
        data = [{"object": "embedding", "index": index, "embedding": each} for index, each in enumerate(encoded)]
        count = tokens_in(*(text if isinstance(text, str) else json.dumps(text) for text in texts))
        usage = {"prompt_tokens": count, "total_tokens": count}
        self.answer({"object": "list", "data": data, "model": model, "usage": usage})

    routes = {
        "/chat/completions": answer_chat,
        "/responses": answer_response,
        "/messages": answer_message,
        "/embeddings": answer_embeddings,
    }

    def answer(self, value, status=200):
        body = json.dumps(value).encode()
        self.send_head(status, "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def refuse(self, status, message):
        self.answer({"error": {"message": message, "type": "echo_error", "code": None}}, status)

    def stream(self, events):
        self.send_head(200, "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for name, event in events:
            data = event if isinstance(event, str) else json.dumps(event)
            text = ((f"event: {name}\n" if name else "") + f"data: {data}\n\n").encode()
            self.wfile.write(b"%x\r\n%s\r\n" % (len(text), text))
            self.wfile.flush()
        self.wfile.write(b"0\r\n\r\n")

    def send_head(self, status, content_type):
        self.send_response(status)
        self.send_header("Content-Type", content_type)
        self.send_header("X-Echo-Authorization", credential(self.headers))

    def log_error(self, *_):
        """Silent: log_message logs errors as it does every answer, and an idle timeout is no error."""

    def log_message(self, form, *args):
        print(f"{form % args} authorization={credential(self.headers)}", file=sys.stderr, flush=True)


def pieces(text):
    return [text[start : start + 8] for start in range(0, len(text), 8)]


class Server(ThreadingHTTPServer):
    daemon_threads = True
    busy = 0
    last_request = time.monotonic()
    lock = threading.Lock()

    def process_request_thread(self, request, address):
        with self.lock:
            self.busy += 1
        try:
            super().process_request_thread(request, address)
        finally:
            with self.lock:
                self.busy -= 1
                self.last_request = time.monotonic()

    def service_actions(self):
        if self.busy == 0 and time.monotonic() - self.last_request > IDLE_SECONDS:
            raise SystemExit(0)


server = Server(("127.0.0.1", 0), Echo, bind_and_activate=False)
server.socket.close()
server.socket = socket.socket(fileno=3)  # passed by systemd
server.serve_forever()
