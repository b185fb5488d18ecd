import { sh } from "../quote.js";

// The program is the first bytes of stdin and what it is asked is the rest: neither is anybody's argument. A Python that
// was built without SQLite says so before it reads a byte.
const start = `
import sys
try:
    import sqlite3
except ImportError:
    sys.exit(87)
exec(compile(sys.stdin.buffer.read(int(sys.argv[1])), "program", "exec"))`;

const anyPython = sh`size=$1
shift
for python; do
  command -v "$python" >/dev/null || continue
  "$python" -I -c ${start} "$size"
  code=$?
  [ "$code" = 87 ] || exit "$code"
done
echo no-python`;

/**
 * How a program of ours that works on an agent's database is run on the host, and what is written to it: itself, and a line
 * of JSON with what it is asked. `code` is where the agent's own program is, whose Python will do too; who writes what that
 * one's SQLite made takes it first, for an older one may not know how the search index is kept.
 */
export function byPython(program: string, asked: object, code: string, first: "any" | "its own" = "any") {
  const own = [`${code}/venv/bin/python3`, `${code}/venv/bin/python`];
  const pythons = first === "any" ? ["python3", ...own] : [...own, "python3"];
  const words = [String(Buffer.byteLength(program)), ...pythons];
  return { script: anyPython, words, stdin: `${program}${ascii(JSON.stringify(asked))}\n` };
}

const ascii = (json: string): string =>
  json.replace(/[^ -~]/g, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`);
