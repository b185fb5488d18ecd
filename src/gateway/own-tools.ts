/**
 * Hermes runs its tools itself and tells of them in /v1/responses as `function_call` and `function_call_output`. To who calls
 * OpenAI a function call is a task of their own: Codex answers "unsupported call: terminal" (seen). So they are left out.
 */
const ownItems = new Set<unknown>(["function_call", "function_call_output"]);

interface Item {
  type?: unknown;
}

interface Response {
  output?: unknown;
}

/** The members of an event that say what it is about. */
interface Said {
  type?: unknown;
  item?: Item;
  output_index?: unknown;
  response?: Response;
}

export interface OwnToolsFilter {
  /** What of it may go on now: all but an event that has not come to its end. */
  push(chunk: Buffer): Buffer;
  /** What is left when nothing more comes. */
  end(): Buffer;
}

const [newline, carriageReturn, colon] = [10, 13, 58];
const nothing = Buffer.alloc(0);

// Bytes. One that does not end must not fill the memory: from there on everything passes as it is.
const longestEvent = 64 * 1024 * 1024;

/** For server-sent events, wherever they are cut into chunks. What is not about tools passes byte for byte. */
export function withoutOwnToolEvents(): OwnToolsFilter {
  const judged = eventJudge();
  let held: Buffer[] = [];
  let length = 0;
  let first: number | undefined;
  let lineIsEmpty = true;
  let returned = false;
  /** The event is whole, but for the second half of its last line's end, which may come or not. */
  let closing = false;
  let givenUp = false;

  function taken(): Buffer {
    const event = held.length === 1 ? (held[0] as Buffer) : Buffer.concat(held);
    held = [];
    length = 0;
    first = undefined;
    lineIsEmpty = true;
    returned = false;
    closing = false;
    return event;
  }

  return {
    push(chunk) {
      if (givenUp) return chunk;
      const passed: Buffer[] = [];
      let from = 0;
      const close = (to: number) => {
        held.push(chunk.subarray(from, to));
        from = to;
        passed.push(judged(taken()));
      };
      for (let at = 0; at < chunk.length; at++) {
        const byte = chunk[at] as number;
        if (closing) {
          close(byte === newline ? at + 1 : at);
          if (byte === newline) continue;
        }
        const secondHalf = byte === newline && returned;
        returned = byte === carriageReturn;
        if (secondHalf) continue;
        first ??= byte;
        if (byte !== newline && byte !== carriageReturn) {
          lineIsEmpty = false;
          at = lineEndAfter(chunk, at) - 1;
          continue;
        }
        // A comment, which keeps the line alive, waits for nothing.
        if (lineIsEmpty || first === colon) {
          if (byte === newline) close(at + 1);
          else closing = true;
        }
        lineIsEmpty = true;
      }
      if (from < chunk.length) held.push(chunk.subarray(from));
      length += chunk.length - from;
      if (length > longestEvent) {
        givenUp = true;
        passed.push(taken());
      }
      return passed.length === 1 ? (passed[0] as Buffer) : Buffer.concat(passed);
    },
    end: () => (held.length === 0 ? nothing : judged(taken())),
  };
}

/** Where the line ends, or the chunk. */
function lineEndAfter(chunk: Buffer, at: number): number {
  const found = chunk.indexOf(newline, at);
  const end = found < 0 ? chunk.length : found;
  const before = chunk.subarray(at, end).indexOf(carriageReturn);
  return before < 0 ? end : at + before;
}

/** Gives each event back as the caller may see it; empty when not at all. */
function eventJudge(): (event: Buffer) => Buffer {
  /** The places that they had in the agent's own count. */
  const leftOut = new Set<number>();

  return (event) => {
    if (leftOut.size === 0 && !event.includes("function_call")) return event;
    const text = event.toString("utf8");
    const said = parsed(dataOf(text)) as Said | undefined;
    if (!said) return event;
    if (isAboutOwnTool(said)) {
      if (typeof said.output_index === "number") leftOut.add(said.output_index);
      return nothing;
    }
    const { output_index: place, response } = said;
    const before = typeof place === "number" ? [...leftOut].filter((other) => other < place).length : 0;
    const shown = response && shownOf(response);
    if (before === 0 && shown === response) return event;
    const changed = {
      ...said,
      ...(before > 0 && { output_index: (place as number) - before }),
      ...(shown !== response && { response: shown }),
    };
    return Buffer.from(withData(text, JSON.stringify(changed)));
  };
}

function isAboutOwnTool({ type, item }: Said): boolean {
  if (typeof type !== "string") return false;
  if (type.startsWith("response.function_call_arguments.")) return true;
  return type.startsWith("response.output_item.") && ownItems.has(item?.type);
}

/** For an answer that came whole. */
export function withoutOwnTools(body: Buffer): Buffer {
  if (!body.includes("function_call")) return body;
  const said = parsed(body.toString("utf8"));
  const shown = said && shownOf(said);
  return shown === said ? body : Buffer.from(JSON.stringify(shown));
}

/** The same one when it holds none of them. */
function shownOf<R extends Response>(response: R): R {
  const { output } = response;
  if (!Array.isArray(output)) return response;
  const shown = output.filter((item: Item | null) => !ownItems.has(item?.type));
  return shown.length === output.length ? response : { ...response, output: shown };
}

function parsed(text: string): Response | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? value : undefined;
  } catch {
    return undefined;
  }
}

const lineEnd = /\r\n|\n|\r/;
const isData = (line: string): boolean => /^data(:|$)/.test(line);

const dataOf = (event: string): string =>
  event
    .split(lineEnd)
    .filter(isData)
    .map((line) => line.replace(/^data:? ?/, ""))
    .join("\n");

/** The same event with other data, on one line. */
function withData(event: string, data: string): string {
  const lines = event.split(lineEnd);
  const at = lines.findIndex(isData);
  const kept = lines.flatMap((line, index) => (index === at ? [`data: ${data}`] : isData(line) ? [] : [line]));
  return kept.join(lineEnd.exec(event)?.[0]);
}
