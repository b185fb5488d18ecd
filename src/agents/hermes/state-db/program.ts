import { sh } from "../../../quote.js";
import type { HostProgram, ProgramPaths } from "../../sessions/host-program.js";
import opening from "./opening.py?raw";

// The program is the first bytes of stdin and its request the rest, so that neither shows in a process list. A Python built
// without SQLite exits before it reads a byte.
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
 * Runs a Python program on an agent's state.db with the request as a line of JSON. The Python in `code`, the agent's
 * own, will do too. Writers must prefer it: the SQLite of an older one may not know how the search index is kept.
 */
export function onStateDb(
  program: string,
  request: object,
  { data, code }: ProgramPaths,
  first: "any" | "its own" = "any",
): HostProgram {
  const own = [`${code}/venv/bin/python3`, `${code}/venv/bin/python`];
  const pythons = first === "any" ? ["python3", ...own] : [...own, "python3"];
  const whole = `${opening}${program}`;
  return {
    script: anyPython,
    words: [String(Buffer.byteLength(whole)), ...pythons],
    stdin: `${whole}${ascii(JSON.stringify({ ...request, db: `${data}/state.db` }))}\n`,
  };
}

const ascii = (json: string): string =>
  json.replace(/[^ -~]/g, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`);
