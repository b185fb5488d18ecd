"""The files in `logs`, and what reaches the journal.

The real one hides in them what looks like a secret. This one does not: that clm does, has to be seen.
"""

import logging
import logging.handlers
import sys
import threading
from contextlib import contextmanager

from hermes_cli.settings import home

FORM = "%(asctime)s %(levelname)s%(session_tag)s %(name)s: %(message)s"
speaking = threading.local()


def start_logging(verbose):
    tag_with_session()
    root = logging.getLogger()
    root.setLevel(logging.INFO)
    for name, level in [("agent.log", logging.INFO), ("errors.log", logging.WARNING), ("gateway.log", logging.INFO)]:
        file = logging.handlers.RotatingFileHandler(home() / "logs" / name, maxBytes=5 << 20, backupCount=3)
        file.setFormatter(logging.Formatter(FORM))
        file.setLevel(level)
        if name == "gateway.log":
            file.addFilter(lambda record: record.name.startswith("gateway"))
        root.addHandler(file)
    stderr = logging.StreamHandler(sys.stderr)
    stderr.setFormatter(logging.Formatter("%(levelname)s %(name)s: %(message)s"))
    stderr.setLevel(logging.INFO if verbose else logging.WARNING)
    root.addHandler(stderr)


def tag_with_session():
    plain = logging.getLogRecordFactory()

    def tagged(*args, **more):
        record = plain(*args, **more)
        session = getattr(speaking, "session", None)
        record.session_tag = f" [{session}]" if session else ""
        return record

    logging.setLogRecordFactory(tagged)


@contextmanager
def about(session):
    """What this thread logs meanwhile is about that session."""
    speaking.session = session
    try:
        yield
    finally:
        speaking.session = None
