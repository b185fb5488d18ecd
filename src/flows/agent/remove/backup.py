# Writes what an agent remembers to stdout as a tar.gz. Run with the agent's own rights: in its home a link may lead
# anywhere, and a file it cannot read itself ends it. Arguments: its data directory, then the paths below it.
import errno
import os
import sqlite3
import sys
import tarfile
import tempfile
from urllib.parse import quote

data, *wanted = sys.argv[1:]


# What cannot be kept must not be taken away.
def give_up(path, why):
    sys.exit((path if path.isprintable() else ascii(path)) + ": " + why)


def keep(tar, path, name):
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError as error:
        if error.errno in (errno.ENOENT, errno.ENOTDIR, errno.ELOOP):
            # Not there, or a link.
            return
        give_up(path, error.strerror)
    with os.fdopen(fd, "rb") as file:
        info = tar.gettarinfo(arcname=name, fileobj=file)
        if info and info.isreg():
            info.mtime = int(info.mtime)
            tar.addfile(info, file)


# The file of a database in use is not the database: part of it is in its journal.
def keep_database(tar, path, name):
    with tempfile.TemporaryDirectory(prefix=".clm-backup-", dir=data) as folder:
        copy = os.path.join(folder, "copy.db")
        try:
            source = sqlite3.connect("file:" + quote(path) + "?mode=ro", uri=True, timeout=30)
            target = sqlite3.connect(copy)
            with target:
                source.backup(target)
        except sqlite3.Error as error:
            give_up(path, str(error))
        target.close()
        source.close()
        keep(tar, copy, name)


with tarfile.open(fileobj=sys.stdout.buffer, mode="w|gz", format=tarfile.GNU_FORMAT) as tar:
    for path in wanted:
        if os.path.islink(path):
            continue
        if os.path.isdir(path):
            for folder, _, files in os.walk(path, onerror=lambda error: give_up(error.filename, error.strerror)):
                for each in sorted(files):
                    full = os.path.join(folder, each)
                    keep(tar, full, os.path.relpath(full, data))
        elif path.endswith(".db") and os.path.isfile(path):
            keep_database(tar, path, os.path.relpath(path, data))
        else:
            keep(tar, path, os.path.relpath(path, data))
