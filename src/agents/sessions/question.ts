import { sh } from "../../quote.js";
import program from "./program.py?raw";

/** What can be asked of an agent's sessions. */
export type Question =
  | ({ verb: "list"; limit: number } & Narrowing)
  | { verb: "whole"; ids: string[]; all: boolean }
  | ({ verb: "search"; limit: number; text: string } & Narrowing);

export interface Narrowing {
  source?: string | undefined;
  /** Seconds since 1970. */
  since?: number | undefined;
}

// The program is the first bytes of stdin and the question all the others: neither is anybody's argument. A Python that was
// built without SQLite says so before it reads a byte.
const start = `
import sys
try:
    import sqlite3
except ImportError:
    sys.exit(87)
exec(compile(sys.stdin.buffer.read(int(sys.argv[1])), "sessions", "exec"))`;

const anyPython = sh`size=$1
shift
for python; do
  command -v "$python" >/dev/null || continue
  "$python" -I -c ${start} "$size"
  code=$?
  [ "$code" = 87 ] || exit "$code"
done
echo no-python`;

/** What to run on the host, and what to write to it. `code` is where the agent's program is, whose Python will do too. */
export function asking(question: Question, { data, code }: { data: string; code: string }) {
  const words = [
    String(Buffer.byteLength(program)),
    ...["python3", `${code}/venv/bin/python3`, `${code}/venv/bin/python`],
  ];
  return { script: anyPython, words, stdin: program + ascii(JSON.stringify({ ...question, db: `${data}/state.db` })) };
}

const ascii = (json: string): string =>
  json.replace(/[^ -~]/g, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`);
