# Writes the data of an agent to stdout as a tar.gz. Runs with the agent's own rights, because a link in its home may lead
# anywhere; a file that it cannot read ends the backup. Argument: JSON with the roots to copy, the patterns to leave out of each,
# the list of skills that were installed with the agent, and the largest size in bytes.
import errno
import fnmatch
import hashlib
import json
import os
import sqlite3
import stat
import sys
import tarfile
import tempfile
from urllib.parse import quote

asked = json.loads(sys.argv[1])
left = asked["largest"]


# A file that cannot be backed up stops the removal.
def give_up(path, why):
    sys.exit((path if path.isprintable() else ascii(path)) + ": " + why)


def keep(tar, path, name):
    global left
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError as error:
        # Removed meanwhile, a link, or a socket.
        if error.errno in (errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.ENXIO):
            return
        give_up(path, error.strerror)
    with os.fdopen(fd, "rb") as file:
        info = tar.gettarinfo(arcname=name, fileobj=file)
        if not info or not info.isreg():
            return
        left -= info.size
        if left < 0:
            give_up(path, "the backup would be larger than %d MB" % (asked["largest"] // 1000000))
        info.mtime = int(info.mtime)
        try:
            tar.addfile(info, file)
        except OSError as error:
            give_up(path, str(error))


# The file alone is not enough: the newest rows of a database in use are in its journal.
def keep_database(tar, path, name):
    with tempfile.TemporaryDirectory(prefix=".clm-backup-", dir=os.path.dirname(path)) as folder:
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


def is_database(path):
    try:
        # Opened as `keep` does: a file may be replaced by a pipe at any time.
        with os.fdopen(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as file:
            return stat.S_ISREG(os.fstat(file.fileno()).st_mode) and file.read(16) == b"SQLite format 3\0"
    except OSError:
        return False


# A pattern that begins with a slash is a path below the root, any other a name anywhere. A `*` matches within one name.
def is_left_out(name, patterns):
    parts = name.split("/")
    for pattern in patterns:
        wanted = pattern[1:].split("/") if pattern.startswith("/") else [pattern]
        having = parts if pattern.startswith("/") else parts[-1:]
        if len(wanted) == len(having) and all(map(fnmatch.fnmatchcase, having, wanted)):
            return True
    return False


# The digests of the skills as they were installed: lines `name:md5`.
def bundled_digests(path):
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            lines = file.read(1000000).splitlines()
    except OSError:
        return set()
    return {line.rpartition(":")[2].strip() for line in lines if ":" in line}


# A skill that was installed with the agent and not changed is not kept: the next installation has it.
def is_bundled(folder, digests):
    if not digests or not os.path.isfile(os.path.join(folder, "SKILL.md")):
        return False
    files = []
    for above, _, names in os.walk(folder):
        files += [os.path.join(above, name) for name in names]
    digest = hashlib.md5()
    for path in sorted(files, key=lambda each: os.path.relpath(each, folder).split("/")):
        try:
            with os.fdopen(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as file:
                if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                    return False
                digest.update(os.path.relpath(path, folder).encode("utf-8", "surrogateescape"))
                digest.update(file.read(50000000))
        except OSError:
            return False
    return digest.hexdigest() in digests


def keep_all(tar, root, prefix, without, digests):
    for folder, folders, files in os.walk(root, onerror=lambda error: give_up(error.filename, error.strerror)):
        inside = os.path.relpath(folder, root)

        def name_of(each):
            return each if inside == "." else os.path.join(inside, each)

        folders[:] = sorted(
            each
            for each in folders
            if not is_left_out(name_of(each), without)
            and not os.path.islink(os.path.join(folder, each))
            and not is_bundled(os.path.join(folder, each), digests)
        )
        for each in sorted(files):
            path, name = os.path.join(folder, each), name_of(each)
            if is_left_out(name, without) or os.path.islink(path):
                continue
            # A database file without a database in it is damaged: its journal may hold what the file does not.
            own = not prefix and inside == "." and each.endswith(".db") and os.path.isfile(path)
            if own or each.endswith((".db", ".sqlite", ".sqlite3")) and is_database(path):
                keep_database(tar, path, prefix + name)
            else:
                keep(tar, path, prefix + name)


with tarfile.open(fileobj=sys.stdout.buffer, mode="w|gz", format=tarfile.GNU_FORMAT) as tar:
    for root in asked["roots"]:
        if os.path.isdir(root["path"]) and not os.path.islink(root["path"]):
            keep_all(tar, root["path"], root["prefix"], root["without"], bundled_digests(asked["bundled"]))
