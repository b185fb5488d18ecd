import { sh } from "../../../quote.js";
import opening from "./opening.py?raw";

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

export interface HostProgram {
  script: string;
  words: string[];
  stdin: string;
}

/** What any of our programs may say of an agent's state.db instead of an answer. */
export interface Told {
  /** Nobody has talked to the agent yet. */
  absent?: boolean;
  /** No session, or several, are meant by this. */
  unknown?: string;
  like?: string[];
  fault?: string;
  why?: string;
  end?: boolean;
}

/**
 * How a program of ours that works on an agent's database is run on the host, and what is written to it: itself, and a line
 * of JSON with what it is asked. `code` is where the agent's own program is, whose Python will do too; who writes what that
 * one's SQLite made takes it first, for an older one may not know how the search index is kept.
 */
export function onStateDb(
  program: string,
  asked: object,
  { data, code }: { data: string; code: string },
  first: "any" | "its own" = "any",
): HostProgram {
  const own = [`${code}/venv/bin/python3`, `${code}/venv/bin/python`];
  const pythons = first === "any" ? ["python3", ...own] : [...own, "python3"];
  const whole = `${opening}${program}`;
  const words = [String(Buffer.byteLength(whole)), ...pythons];
  return {
    script: anyPython,
    words,
    stdin: `${whole}${ascii(JSON.stringify({ ...asked, db: `${data}/state.db` }))}\n`,
  };
}

const ascii = (json: string): string =>
  json.replace(/[^ -~]/g, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`);
