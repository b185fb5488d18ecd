import { sh } from "../../quote.js";
import type { Row } from "../sessions/session.js";
import program from "./program.py?raw";
import type { Said } from "./transcript.js";

/** What can be asked of an agent's state.db for a handoff. `id` is the session it is about. */
export type Request = { id: string } & (
  | { verb: "look" }
  | { verb: "seed"; session: Row; messages: Row[] }
  /** `planted` is the text of the note; with `wait` nothing is taken out before the answer to it is there. */
  | { verb: "settle"; planted: string; wait: boolean; counts: Row }
  | { verb: "forget" }
  /** `last` is the last message that was read: a session that went on since is left as it is. */
  | { verb: "close"; last: number | null; at: number }
);

/** What it answers. */
export interface Reply {
  absent?: boolean;
  fault?: string;
  why?: string;
  /** Columns without which nothing can be written. */
  missing?: string[];
  there?: boolean;
  title?: string | null;
  early?: boolean;
  messages?: Row[];
  forgotten?: number;
  closed?: boolean;
  went_on?: boolean;
}

// The program is the first bytes of stdin and the request all the others: neither is anybody's argument.
const start = `
import sys
try:
    import sqlite3
except ImportError:
    sys.exit(87)
exec(compile(sys.stdin.buffer.read(int(sys.argv[1])), "handoff", "exec"))`;

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
 * What to run on the host, and what to write to it. The agent's own Python comes first: its SQLite made the database, and an
 * older one may not know how its search index is kept.
 */
export function requesting(request: Request, { data, code }: { data: string; code: string }) {
  const words = [
    String(Buffer.byteLength(program)),
    ...[`${code}/venv/bin/python3`, `${code}/venv/bin/python`, "python3"],
  ];
  return { script: anyPython, words, stdin: program + ascii(JSON.stringify({ ...request, db: `${data}/state.db` })) };
}

const ascii = (json: string): string =>
  json.replace(/[^ -~]/g, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`);

/** A message as a row. Every version has these columns. */
export const rowOf = ({ role, content, calls, answers, at }: Said): Row => ({
  ...{ role, content, timestamp: at },
  tool_calls:
    calls.length === 0
      ? null
      : calls.map(({ id, name, arguments: given }) => ({ id, type: "function", function: { name, arguments: given } })),
  ...(answers && { tool_call_id: answers.id, tool_name: answers.tool }),
  ...(role === "assistant" && { finish_reason: calls.length > 0 ? "tool_calls" : "stop" }),
});

/** How many there are, as a session's row has it. */
export const countsOf = (said: readonly Said[]): Row => ({
  message_count: said.length,
  tool_call_count: said.reduce((sum, { calls }) => sum + calls.length, 0),
});

/** The session that is made of a transcript. What it cost was paid elsewhere; its system prompt the agent makes itself. */
export const sessionRow = (said: readonly Said[], title: string, model: string | undefined): Row => ({
  ...{ source: "api_server", title: title.replace(/\s+/g, " ").trim() || null, model: model ?? null },
  started_at: said[0]?.at ?? 0,
  ...countsOf(said),
});
