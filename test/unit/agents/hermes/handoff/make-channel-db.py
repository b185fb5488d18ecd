# Makes a state.db with two sessions, the first of them used last, and SQL of the test's own after that.
import sqlite3
import sys

path, handoff, after = sys.argv[1:]
db = sqlite3.connect(path)
db.execute("PRAGMA journal_mode=WAL")
columns = ", handoff_state TEXT, handoff_platform TEXT, handoff_error TEXT" if handoff == "new" else ""
db.execute(
    "CREATE TABLE sessions (id TEXT PRIMARY KEY, source TEXT, title TEXT, started_at REAL NOT NULL, ended_at REAL,"
    f" message_count INTEGER DEFAULT 0{columns})"
)
db.execute("CREATE TABLE messages (id INTEGER PRIMARY KEY, session_id TEXT, role TEXT, content TEXT, timestamp REAL)")
db.execute("INSERT INTO sessions (id, source, title, started_at, message_count) VALUES ('tea-1', 'cli', 'Tea', 100, 2)")
db.execute("INSERT INTO sessions (id, source, title, started_at, message_count) VALUES ('tea-2', 'api_server', NULL, 200, 0)")
db.execute("INSERT INTO messages (session_id, role, content, timestamp) VALUES ('tea-1', 'user', 'hello', 300)")
db.executescript(after)
db.commit()
