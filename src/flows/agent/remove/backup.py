# Writes the data of an agent to stdout as a tar.gz. Runs as the agent's user, because a link in its home may lead anywhere; an
# unreadable file ends the backup. Argument: JSON with the roots to copy, each with its patterns to exclude, the path of the list
# of skills installed with the agent, and the maximum size in bytes.
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

request = json.loads(sys.argv[1])
remaining_bytes = request["max_bytes"]


# Exits with an error, which stops the removal of the agent.
def fail(path, why):
    sys.exit((path if path.isprintable() else ascii(path)) + ": " + why)


def add_file(tar, path, name):
    global remaining_bytes
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError as error:
        # The file was removed meanwhile, or is a link or a socket.
        if error.errno in (errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.ENXIO):
            return
        fail(path, error.strerror)
    with os.fdopen(fd, "rb") as file:
        info = tar.gettarinfo(arcname=name, fileobj=file)
        if not info or not info.isreg():
            return
        remaining_bytes -= info.size
        if remaining_bytes < 0:
            fail(path, "the backup would be larger than %d MB" % (request["max_bytes"] // 1000000))
        info.mtime = int(info.mtime)
        try:
            tar.addfile(info, file)
        except OSError as error:
            fail(path, str(error))


# Copies through SQLite: the newest rows of a database in use are in its journal, not in its file.
def add_database(tar, path, name):
    with tempfile.TemporaryDirectory(prefix=".clm-backup-", dir=os.path.dirname(path)) as folder:
        copy = os.path.join(folder, "copy.db")
        try:
            source = sqlite3.connect("file:" + quote(path) + "?mode=ro", uri=True, timeout=30)
            target = sqlite3.connect(copy)
            with target:
                source.backup(target)
        except sqlite3.Error as error:
            fail(path, str(error))
        target.close()
        source.close()
        add_file(tar, copy, name)


def is_database(path):
    try:
        # With the flags of `add_file`: a file may be replaced by a pipe at any time.
        with os.fdopen(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as file:
            return stat.S_ISREG(os.fstat(file.fileno()).st_mode) and file.read(16) == b"SQLite format 3\0"
    except OSError:
        return False


# A pattern that begins with a slash is a path below the root, any other a name in any directory. A `*` matches within one name.
def is_excluded(name, patterns):
    parts = name.split("/")
    for pattern in patterns:
        globs = pattern[1:].split("/") if pattern.startswith("/") else [pattern]
        names = parts if pattern.startswith("/") else parts[-1:]
        if len(globs) == len(names) and all(map(fnmatch.fnmatchcase, names, globs)):
            return True
    return False


# The digests of the skills when they were installed, from lines of `name:md5`.
def bundled_digests(path):
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            lines = file.read(1000000).splitlines()
    except OSError:
        return set()
    return {line.rpartition(":")[2].strip() for line in lines if ":" in line}


# Skills that are unchanged since the installation are not backed up: the next installation brings them.
def is_bundled(folder, digests):
    if not digests or not os.path.isfile(os.path.join(folder, "SKILL.md")):
        return False
    files = []
    for parent, _, names in os.walk(folder):
        files += [os.path.join(parent, name) for name in names]
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


def add_tree(tar, root, prefix, exclude, digests):
    for folder, folders, files in os.walk(root, onerror=lambda error: fail(error.filename, error.strerror)):
        relative = os.path.relpath(folder, root)

        def relative_name(each):
            return each if relative == "." else os.path.join(relative, each)

        folders[:] = sorted(
            each
            for each in folders
            if not is_excluded(relative_name(each), exclude)
            and not os.path.islink(os.path.join(folder, each))
            and not is_bundled(os.path.join(folder, each), digests)
        )
        for each in sorted(files):
            path, name = os.path.join(folder, each), relative_name(each)
            if is_excluded(name, exclude) or os.path.islink(path):
                continue
            # The agent's own .db files are copied as databases even without the header: their journal may hold the data.
            is_own = not prefix and relative == "." and each.endswith(".db") and os.path.isfile(path)
            if is_own or each.endswith((".db", ".sqlite", ".sqlite3")) and is_database(path):
                add_database(tar, path, prefix + name)
            else:
                add_file(tar, path, prefix + name)


with tarfile.open(fileobj=sys.stdout.buffer, mode="w|gz", format=tarfile.GNU_FORMAT) as tar:
    for root in request["roots"]:
        if os.path.isdir(root["path"]) and not os.path.islink(root["path"]):
            add_tree(tar, root["path"], root["prefix"], root["exclude"], bundled_digests(request["bundled_skills"]))
