"""An answer told while it comes. The turn runs apart from who listens, so that silence is filled and a leaving is noticed."""

import json
import logging
import queue
import threading

from hermes_cli import model
from hermes_cli.settings import since
from hermes_cli.turn import NO_USAGE, Interrupted, failed, turn

log = logging.getLogger("gateway.platforms.api_server")
SILENCE_SECONDS = 30


class Stream:
    """Who listens to a streamed turn."""

    def __init__(self):
        self.heard = queue.Queue()
        self.gone = threading.Event()

    def hear(self, kind, what):
        if self.gone.is_set():
            raise Interrupted
        self.heard.put((kind, what))

    def wait(self, seconds):
        if self.gone.wait(seconds):
            raise Interrupted

    def run(self, *asked):
        try:
            _, usage = turn(*asked, self)
            self.heard.put(("end", usage))
        except (model.NoProvider, model.CallFailed) as error:
            self.heard.put(("failure", str(error)))
        except Interrupted:
            pass
        except Exception as error:
            log.exception("Agent crashed mid-stream")
            self.heard.put(("failure", str(error)))

    def events(self):
        while True:
            try:
                event = self.heard.get(timeout=SILENCE_SECONDS)
            except queue.Empty:
                event = ("silence", None)
            yield event
            if event[0] in ("end", "failure"):
                return


def tell(write, head, *asked):
    """Runs the turn and writes what comes of it, each event as one text."""
    stream = Stream()
    try:
        write(chunk(head, {"role": "assistant"}))
        threading.Thread(target=stream.run, args=asked, daemon=True).start()
        for kind, what in stream.events():
            if kind in TOLD:
                write(TOLD[kind](head, what))
        write("data: [DONE]\n\n")
    except OSError:
        stream.gone.set()
        log.info("SSE client disconnected; interrupted agent task %s", head["id"])
        raise


def chunk(head, delta, finish=None, **rest):
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return f"data: {json.dumps({**head, 'choices': [choice], **rest}, ensure_ascii=False)}\n\n"


def failure(head, error):
    """Before 0.18 nothing tells it: the answer is empty, and ends as any other."""
    if not since(18):
        return chunk(head, {}, "stop", usage=NO_USAGE)
    told = {"message": error, "type": "agent_error", "code": "agent_error"}
    return chunk(head, {}, "error", usage=NO_USAGE, error=told, hermes=failed(error))


TOLD = {
    "text": lambda head, text: chunk(head, {"content": text}),
    "tool": lambda _, progress: f"event: hermes.tool.progress\ndata: {json.dumps(progress, ensure_ascii=False)}\n\n",
    "silence": lambda *_: ": keepalive\n\n",
    "end": lambda head, usage: chunk(head, {}, "stop", usage=usage),
    "failure": failure,
}
