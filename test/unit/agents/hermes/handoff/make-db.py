# Makes a state.db as Hermes 0.N has it, with the tables the lab's stand-in makes for that release, and two sessions in it.
import json
import pathlib
import sys
import types

folder, minor = pathlib.Path(sys.argv[1]), int(sys.argv[2])
settings = types.ModuleType("hermes_cli.settings")
settings.home = lambda: folder
settings.since = lambda number: minor >= number
sys.modules["hermes_cli"] = types.ModuleType("hermes_cli")
sys.modules["hermes_cli.settings"] = settings
store = {"__name__": "store"}
exec(pathlib.Path("templates/standin/hermes/store.py").read_text(), store)
(folder / "sessions").mkdir()
store["prepare"]()
with store["database"]() as db:
    if minor == 0:
        # One that knows hardly anything.
        for table, kept in (("sessions", "id, source, started_at"), ("messages", "id, session_id, role, content, timestamp")):
            db.execute(f"CREATE TABLE few_{table} AS SELECT {kept} FROM {table} WHERE 0")
        for fts in ("messages_fts", "messages_fts_trigram"):
            db.execute(f"DROP TABLE {fts}")
        for table in ("messages", "sessions"):
            db.execute(f"DROP TABLE {table}")
            db.execute(f"ALTER TABLE few_{table} RENAME TO {table}")
    db.execute("INSERT INTO sessions (id, source, started_at) VALUES ('own', 'cli', 5)")
    if minor:
        db.execute("UPDATE sessions SET title = 'Tea', message_count = 2 WHERE id = 'own'")
    for number, text in ((1, "hello"), (2, "hi")):
        db.execute("INSERT INTO messages (id, session_id, role, content, timestamp) VALUES (?, 'own', 'user', ?, ?)", (number, text, number))
