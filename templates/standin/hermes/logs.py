"""The files in `logs`, and what goes to the journal.

The real Hermes redacts what looks like a secret. The stand-in does not, so that tests can see clm redact it.
"""

import logging
import logging.handlers
import sys
import threading
from contextlib import contextmanager

from hermes_cli.settings import home

FORMAT = "%(asctime)s %(levelname)s%(session_tag)s %(name)s: %(message)s"
current = threading.local()


def start_logging(verbose):
    tag_with_session()
    root = logging.getLogger()
    root.setLevel(logging.INFO)
    for name, level in [("agent.log", logging.INFO), ("errors.log", logging.WARNING), ("gateway.log", logging.INFO)]:
        file = logging.handlers.RotatingFileHandler(home() / "logs" / name, maxBytes=5 << 20, backupCount=3)
        file.setFormatter(logging.Formatter(FORMAT))
        file.setLevel(level)
        if name == "gateway.log":
            file.addFilter(lambda record: record.name.startswith("gateway"))
        root.addHandler(file)
    stderr = logging.StreamHandler(sys.stderr)
    stderr.setFormatter(logging.Formatter("%(levelname)s %(name)s: %(message)s"))
    stderr.setLevel(logging.INFO if verbose else logging.WARNING)
    root.addHandler(stderr)


def tag_with_session():
    factory = logging.getLogRecordFactory()

    def tagged(*args, **kwargs):
        record = factory(*args, **kwargs)
        session = getattr(current, "session", None)
        record.session_tag = f" [{session}]" if session else ""
        return record

    logging.setLogRecordFactory(tagged)


@contextmanager
def tag_session(session):
    """Marks what this thread logs in this context with the session's id."""
    current.session = session
    try:
        yield
    finally:
        current.session = None
