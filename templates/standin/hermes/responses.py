"""The Responses API: what was asked and answered is kept, so that the next request can go on from it by its id."""

import json
import logging
import sqlite3
import threading
import time
import uuid
from contextlib import contextmanager

from hermes_cli.settings import home, since
from hermes_cli.stream import Stream
from hermes_cli.turn import NO_USAGE, Nobody

log = logging.getLogger("gateway.platforms.api_server")
KEPT = 100
LONGEST_HISTORY = 100


@contextmanager
def kept():
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


def keep(response, talk, history):
    """For the next request, and for who asks for it by its id. Of too many the one that nobody asked for goes."""
    if not talk.store:
        return
    data = {"response": response, "history": history, "instructions": talk.instructions, "session": talk.session}
    with kept() as db:
        db.execute("INSERT OR REPLACE INTO responses VALUES (?, ?, ?)", (response["id"], json.dumps(data), time.time()))
        db.execute("DELETE FROM responses WHERE response_id NOT IN (SELECT response_id FROM responses ORDER BY accessed_at DESC LIMIT ?)", (KEPT,))
        if talk.conversation:
            db.execute("INSERT OR REPLACE INTO conversations VALUES (?, ?)", (talk.conversation, response["id"]))


def recall(response):
    with kept() as db:
        row = db.execute("SELECT data FROM responses WHERE response_id = ?", (response,)).fetchone()
        db.execute("UPDATE responses SET accessed_at = ? WHERE response_id = ?", (time.time(), response))
        return json.loads(row[0]) if row else None


def forget(response):
    with kept() as db:
        return db.execute("DELETE FROM responses WHERE response_id = ?", (response,)).rowcount == 1


def last_of(conversation):
    with kept() as db:
        row = db.execute("SELECT response_id FROM conversations WHERE name = ?", (conversation,)).fetchone()
        return row[0] if row else None


class Unusable(Exception):
    def __init__(self, message, status=400):
        self.message, self.status = message, status


class Talk:
    """What is asked, what it goes on from, and whose instructions hold."""

    def __init__(self, asked, text_of):
        given = asked.get("input")
        if given is None:
            raise Unusable("Missing 'input' field")
        before = asked.get("previous_response_id")
        self.conversation = asked.get("conversation")
        if before and self.conversation:
            raise Unusable("Cannot use both 'conversation' and 'previous_response_id'")
        self.store = asked.get("store", True) is not False
        told = messages_in(given, text_of, "'input' must be a string or array")
        history = messages_in(asked.get("conversation_history") or [], text_of, "'conversation_history' must be an array of message objects")
        before = before or (last_of(self.conversation) if self.conversation else None)
        earlier = (recall(before) if before else None) or {}
        if asked.get("previous_response_id") and not earlier:
            raise Unusable(f"Previous response not found: {before}", 404)
        self.session = earlier.get("session") or str(uuid.uuid4())
        self.instructions = asked.get("instructions") or earlier.get("instructions") or ""
        told = [*(history or earlier.get("history") or []), *told]
        said = [message for message in told if message["role"] in ("user", "assistant")]
        if not said or said[-1]["role"] != "user" or not said[-1]["content"]:
            raise Unusable("No user message found in input")
        self.said = said.pop()["content"]
        self.history = said[-LONGEST_HISTORY:] if asked.get("truncation") == "auto" else said
        layered = [message["content"] for message in told if message["role"] in ("system", "developer")]
        self.system = "\n".join([part for part in [self.instructions, *layered] if part])

    def after(self, text):
        return [*self.history, {"role": "user", "content": self.said}, {"role": "assistant", "content": text}]


def messages_in(given, text_of, complaint):
    """Only messages count: what a client keeps of reasoning and of tools that it called is let pass."""
    if isinstance(given, str):
        return [{"role": "user", "content": given}]
    if not isinstance(given, list):
        raise Unusable(complaint)
    items = [{"role": "user", "content": item} if isinstance(item, str) else item for item in given]
    said = [item for item in items if isinstance(item, dict) and item.get("type", "message") == "message"]
    return [{"role": item.get("role", "user"), "content": text_of(item.get("content"))} for item in said]


def usage_in(usage):
    told = {"input_tokens": usage["prompt_tokens"], "output_tokens": usage["completion_tokens"], "total_tokens": usage["total_tokens"]}
    return {**told, "input_tokens_details": {"cached_tokens": 0}, "output_tokens_details": {"reasoning_tokens": 0}}


def message(text, item=None):
    part = {"type": "output_text", "text": text, "annotations": []}
    name = item or f"msg_{uuid.uuid4().hex[:24]}"
    return {"id": name, "type": "message", "role": "assistant", "status": "completed", "content": [part]}


def whole(head, output, usage, status="completed", **more):
    return {**head, "status": status, "output": output, "usage": usage_in(usage), **more}


def call_item(call, status="completed"):
    told = {"call_id": call["id"], "name": call["name"], "arguments": call["arguments"]}
    return {"id": f"fc_{call['id'][5:]}", "type": "function_call", "status": status, **told}


def result_item(call):
    parts = [{"type": "input_text", "text": call["output"]}]
    return {"id": f"fco_{call['id'][5:]}", "type": "function_call_output", "call_id": call["id"], "output": parts, "status": "completed"}


class Heard(Nobody):
    """What tools did on the way to a whole answer."""

    def __init__(self):
        self.output = []

    def hear(self, kind, what):
        if kind == "result":
            self.output += [call_item(what), result_item(what)]


class Told:
    """The events of one streamed response, in the order a client waits for."""

    def __init__(self, write, head):
        self.write, self.head = write, head
        self.count = 0
        self.output = []
        self.words = []
        self.item = f"msg_{uuid.uuid4().hex[:24]}"

    def event(self, kind, **what):
        told = {"type": f"response.{kind}", "sequence_number": self.count, **what}
        self.count += 1
        self.write(f"event: response.{kind}\ndata: {json.dumps(told, ensure_ascii=False)}\n\n")

    def begin(self):
        self.event("created", response={**self.head, "status": "in_progress", "output": []})

    def hear(self, kind, what):
        if kind == "silence":
            self.write(": keepalive\n\n")
        elif kind == "call":
            self.event("output_item.added", output_index=len(self.output), item=call_item(what, "in_progress"))
        elif kind == "result":
            self.finish(call_item(what))
            self.event("output_item.added", output_index=len(self.output), item=result_item(what))
            self.finish(result_item(what))
        elif kind == "text":
            self.open()
            self.words.append(what)
            self.event("output_text.delta", item_id=self.item, output_index=len(self.output), content_index=0, delta=what, logprobs=[])

    def finish(self, item):
        self.event("output_item.done", output_index=len(self.output), item=item)
        self.output.append(item)

    def open(self):
        if not self.words:
            item = {**message("", self.item), "status": "in_progress", "content": []}
            self.event("output_item.added", output_index=len(self.output), item=item)

    def end(self, usage):
        self.open()
        text = "".join(self.words)
        self.event("output_text.done", item_id=self.item, output_index=len(self.output), content_index=0, text=text, logprobs=[])
        self.finish(message(text, self.item))
        done = whole(self.head, self.output, usage)
        self.event("completed", response=done)
        return done, text


def tell(write, head, talk):
    """Runs the turn and writes what comes of it. When nobody listens any more, what was said until then is kept."""
    stream = Stream()
    told = Told(write, head)
    try:
        told.begin()
        asked = (talk.session, talk.system, talk.history, talk.said)
        threading.Thread(target=stream.run, args=asked, daemon=True).start()
        for kind, what in stream.events():
            if kind == "end":
                done, text = told.end(what)
                keep(done, talk, talk.after(text))
            elif kind == "failure" and since(18):
                # No event tells of it: the error is the answer.
                told.hear("text", what)
                done, text = told.end(NO_USAGE)
                keep(done, talk, talk.after(text))
            elif kind == "failure":
                error = {"message": what, "type": "server_error", "code": "server_error"}
                failed = whole(head, told.output, NO_USAGE, "failed", error=error)
                told.event("failed", response=failed)
                keep(failed, talk, talk.history)
            else:
                told.hear(kind, what)
    except OSError:
        stream.gone.set()
        log.info("SSE client disconnected; interrupted agent task %s", head["id"])
        text = "".join(told.words)
        output = [*told.output, *([{**message(text, told.item), "status": "incomplete"}] if text else [])]
        keep(whole(head, output, NO_USAGE, "incomplete"), talk, talk.after(text))
        raise
