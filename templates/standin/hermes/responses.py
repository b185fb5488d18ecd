"""The Responses API: responses are stored, so that a later request can continue from one by its id."""

import json
import logging
import sqlite3
import threading
import time
import uuid
from contextlib import contextmanager

from hermes_cli.settings import home, since
from hermes_cli.stream import TurnStream
from hermes_cli.turn import NO_USAGE, Listener

log = logging.getLogger("gateway.platforms.api_server")
MAX_RESPONSES = 100
MAX_HISTORY = 100


@contextmanager
def database():
    db = sqlite3.connect(home() / "response_store.db", timeout=30)
    try:
        db.execute("PRAGMA journal_mode=WAL")
        db.execute("PRAGMA synchronous=OFF")
        db.execute("CREATE TABLE IF NOT EXISTS responses (response_id TEXT PRIMARY KEY, data TEXT NOT NULL, accessed_at REAL NOT NULL)")
        db.execute("CREATE TABLE IF NOT EXISTS conversations (name TEXT PRIMARY KEY, response_id TEXT NOT NULL)")
        yield db
        db.commit()
    finally:
        db.close()


def save(response, request, history):
    """Stores the response unless the request says not to; of too many, the least recently used is deleted."""
    if not request.store:
        return
    data = {"response": response, "history": history, "instructions": request.instructions, "session": request.session}
    with database() as db:
        db.execute("INSERT OR REPLACE INTO responses VALUES (?, ?, ?)", (response["id"], json.dumps(data), time.time()))
        db.execute("DELETE FROM responses WHERE response_id NOT IN (SELECT response_id FROM responses ORDER BY accessed_at DESC LIMIT ?)", (MAX_RESPONSES,))
        if request.conversation:
            db.execute("INSERT OR REPLACE INTO conversations VALUES (?, ?)", (request.conversation, response["id"]))


def load(response):
    with database() as db:
        row = db.execute("SELECT data FROM responses WHERE response_id = ?", (response,)).fetchone()
        db.execute("UPDATE responses SET accessed_at = ? WHERE response_id = ?", (time.time(), response))
        return json.loads(row[0]) if row else None


def delete(response):
    with database() as db:
        return db.execute("DELETE FROM responses WHERE response_id = ?", (response,)).rowcount == 1


def last_response_id(conversation):
    with database() as db:
        row = db.execute("SELECT response_id FROM conversations WHERE name = ?", (conversation,)).fetchone()
        return row[0] if row else None


class BadRequest(Exception):
    def __init__(self, message, status=400):
        self.message, self.status = message, status


class ResponseRequest:
    """A parsed request: its prompt, the history it continues from, and the instructions that apply."""

    def __init__(self, params, text_of):
        value = params.get("input")
        if value is None:
            raise BadRequest("Missing 'input' field")
        previous = params.get("previous_response_id")
        self.conversation = params.get("conversation")
        if previous and self.conversation:
            raise BadRequest("Cannot use both 'conversation' and 'previous_response_id'")
        self.store = params.get("store", True) is not False
        messages = messages_in(value, text_of, "'input' must be a string or array")
        history = messages_in(params.get("conversation_history") or [], text_of, "'conversation_history' must be an array of message objects")
        previous = previous or (last_response_id(self.conversation) if self.conversation else None)
        stored = (load(previous) if previous else None) or {}
        if params.get("previous_response_id") and not stored:
            raise BadRequest(f"Previous response not found: {previous}", 404)
        self.session = stored.get("session") or str(uuid.uuid4())
        self.instructions = params.get("instructions") or stored.get("instructions") or ""
        messages = [*(history or stored.get("history") or []), *messages]
        turns = [message for message in messages if message["role"] in ("user", "assistant")]
        if not turns or turns[-1]["role"] != "user" or not turns[-1]["content"]:
            raise BadRequest("No user message found in input")
        self.prompt = turns.pop()["content"]
        self.history = turns[-MAX_HISTORY:] if params.get("truncation") == "auto" else turns
        system_messages = [message["content"] for message in messages if message["role"] in ("system", "developer")]
        self.system = "\n".join([part for part in [self.instructions, *system_messages] if part])

    def history_with(self, text):
        return [*self.history, {"role": "user", "content": self.prompt}, {"role": "assistant", "content": text}]


def messages_in(value, text_of, error):
    """Only messages are used; reasoning and tool items that a client sends back are ignored."""
    if isinstance(value, str):
        return [{"role": "user", "content": value}]
    if not isinstance(value, list):
        raise BadRequest(error)
    items = [{"role": "user", "content": item} if isinstance(item, str) else item for item in value]
    messages = [item for item in items if isinstance(item, dict) and item.get("type", "message") == "message"]
    return [{"role": item.get("role", "user"), "content": text_of(item.get("content"))} for item in messages]


def usage_object(usage):
    counts = {"input_tokens": usage["prompt_tokens"], "output_tokens": usage["completion_tokens"], "total_tokens": usage["total_tokens"]}
    return {**counts, "input_tokens_details": {"cached_tokens": 0}, "output_tokens_details": {"reasoning_tokens": 0}}


def message(text, item=None):
    part = {"type": "output_text", "text": text, "annotations": []}
    item_id = item or f"msg_{uuid.uuid4().hex[:24]}"
    return {"id": item_id, "type": "message", "role": "assistant", "status": "completed", "content": [part]}


def response_object(head, output, usage, status="completed", **fields):
    return {**head, "status": status, "output": output, "usage": usage_object(usage), **fields}


def call_item(call, status="completed"):
    function = {"call_id": call["id"], "name": call["name"], "arguments": call["arguments"]}
    return {"id": f"fc_{call['id'][5:]}", "type": "function_call", "status": status, **function}


def result_item(call):
    parts = [{"type": "input_text", "text": call["output"]}]
    return {"id": f"fco_{call['id'][5:]}", "type": "function_call_output", "call_id": call["id"], "output": parts, "status": "completed"}


class ToolListener(Listener):
    """Collects the tool calls of a turn that is not streamed."""

    def __init__(self):
        self.output = []

    def on_event(self, kind, data):
        if kind == "result":
            self.output += [call_item(data), result_item(data)]


class ResponseEvents:
    """Writes the events of one streamed response, in the order clients expect."""

    def __init__(self, write, head):
        self.write, self.head = write, head
        self.count = 0
        self.output = []
        self.pieces = []
        self.item = f"msg_{uuid.uuid4().hex[:24]}"

    def event(self, kind, **fields):
        event = {"type": f"response.{kind}", "sequence_number": self.count, **fields}
        self.count += 1
        self.write(f"event: response.{kind}\ndata: {json.dumps(event, ensure_ascii=False)}\n\n")

    def begin(self):
        self.event("created", response={**self.head, "status": "in_progress", "output": []})

    def on_event(self, kind, data):
        if kind == "silence":
            self.write(": keepalive\n\n")
        elif kind == "call":
            self.event("output_item.added", output_index=len(self.output), item=call_item(data, "in_progress"))
        elif kind == "result":
            self.finish(call_item(data))
            self.event("output_item.added", output_index=len(self.output), item=result_item(data))
            self.finish(result_item(data))
        elif kind == "text":
            self.start_message()
            self.pieces.append(data)
            self.event("output_text.delta", item_id=self.item, output_index=len(self.output), content_index=0, delta=data, logprobs=[])

    def finish(self, item):
        self.event("output_item.done", output_index=len(self.output), item=item)
        self.output.append(item)

    def start_message(self):
        if not self.pieces:
            item = {**message("", self.item), "status": "in_progress", "content": []}
            self.event("output_item.added", output_index=len(self.output), item=item)

    def end(self, usage):
        self.start_message()
        text = "".join(self.pieces)
        self.event("output_text.done", item_id=self.item, output_index=len(self.output), content_index=0, text=text, logprobs=[])
        self.finish(message(text, self.item))
        response = response_object(self.head, self.output, usage)
        self.event("completed", response=response)
        return response, text


def write_response(write, head, request):
    """Runs the turn and writes its events. When the client disconnects, stores the response so far."""
    stream = TurnStream()
    events = ResponseEvents(write, head)
    try:
        events.begin()
        args = (request.session, request.system, request.history, request.prompt)
        threading.Thread(target=stream.run, args=args, daemon=True).start()
        for kind, data in stream.events():
            if kind == "end":
                response, text = events.end(data)
                save(response, request, request.history_with(text))
            elif kind == "failure" and since(18):
                # 0.18 has no failure event: the error becomes the answer.
                events.on_event("text", data)
                response, text = events.end(NO_USAGE)
                save(response, request, request.history_with(text))
            elif kind == "failure":
                error = {"message": data, "type": "server_error", "code": "server_error"}
                failed = response_object(head, events.output, NO_USAGE, "failed", error=error)
                events.event("failed", response=failed)
                save(failed, request, request.history)
            else:
                events.on_event(kind, data)
    except OSError:
        stream.disconnected.set()
        log.info("SSE client disconnected; interrupted agent task %s", head["id"])
        text = "".join(events.pieces)
        output = [*events.output, *([{**message(text, events.item), "status": "incomplete"}] if text else [])]
        save(response_object(head, output, NO_USAGE, "incomplete"), request, request.history_with(text))
        raise
