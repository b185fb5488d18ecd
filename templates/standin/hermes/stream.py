"""Streamed chat completions. The turn runs in its own thread, so that keepalives are sent and a disconnect is noticed."""

import json
import logging
import queue
import threading

from hermes_cli import model
from hermes_cli.settings import since
from hermes_cli.turn import NO_USAGE, Interrupted, failed, turn

log = logging.getLogger("gateway.platforms.api_server")
SILENCE_SECONDS = 30


class TurnStream:
    """Passes a turn's events from its thread to the one that writes the response."""

    def __init__(self):
        self.queue = queue.Queue()
        self.disconnected = threading.Event()

    def on_event(self, kind, data):
        if self.disconnected.is_set():
            raise Interrupted
        self.queue.put((kind, data))

    def wait(self, seconds):
        if self.disconnected.wait(seconds):
            raise Interrupted

    def run(self, *args):
        try:
            _, usage = turn(*args, self)
            self.queue.put(("end", usage))
        except (model.NoProvider, model.CallFailed) as error:
            self.queue.put(("failure", str(error)))
        except Interrupted:
            pass
        except Exception as error:
            log.exception("Agent crashed mid-stream")
            self.queue.put(("failure", str(error)))

    def events(self):
        while True:
            try:
                event = self.queue.get(timeout=SILENCE_SECONDS)
            except queue.Empty:
                event = ("silence", None)
            yield event
            if event[0] in ("end", "failure"):
                return


def write_chat(write, head, *args):
    """Runs the turn and writes its events."""
    stream = TurnStream()
    try:
        write(chunk(head, {"role": "assistant"}))
        threading.Thread(target=stream.run, args=args, daemon=True).start()
        for kind, data in stream.events():
            if kind in FORMATTERS:
                write(FORMATTERS[kind](head, data))
        write("data: [DONE]\n\n")
    except OSError:
        stream.disconnected.set()
        log.info("SSE client disconnected; interrupted agent task %s", head["id"])
        raise


def chunk(head, delta, finish_reason=None, **fields):
    choice = {"index": 0, "delta": delta, "finish_reason": finish_reason}
    return f"data: {json.dumps({**head, 'choices': [choice], **fields}, ensure_ascii=False)}\n\n"


def failure_chunk(head, error):
    """Before 0.18 a failure is not reported: the answer is empty and ends normally."""
    if not since(18):
        return chunk(head, {}, "stop", usage=NO_USAGE)
    fields = {"message": error, "type": "agent_error", "code": "agent_error"}
    return chunk(head, {}, "error", usage=NO_USAGE, error=fields, hermes=failed(error))


FORMATTERS = {
    "text": lambda head, text: chunk(head, {"content": text}),
    "tool": lambda _, progress: f"event: hermes.tool.progress\ndata: {json.dumps(progress, ensure_ascii=False)}\n\n",
    "silence": lambda *_: ": keepalive\n\n",
    "end": lambda head, usage: chunk(head, {}, "stop", usage=usage),
    "failure": failure_chunk,
}
