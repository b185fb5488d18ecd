/** One server-sent event. */
export interface ServerEvent {
  /** `message` when it has no name of its own. */
  name: string;
  data: string;
}

/** Characters. No event is as long, and one that does not end must not fill the memory. */
const longestEvent = 8 * 1024 * 1024;

const [newline, carriageReturn] = [10, 13];

/**
 * Reads a stream of server-sent events, wherever it is cut into chunks. Comments, which keep a line alive, are skipped.
 * `push` says whether more is of use: it is not after an event without an end. Takes time by the length of the stream alone,
 * however it is cut, and hardly any for empty lines.
 */
export function eventReader(onEvent: (event: ServerEvent) => void): { push(text: string): boolean } {
  let rest = "";
  let name = "";
  let data: string[] = [];
  let length = 0;
  /** A return ended the last chunk: a newline that follows is the second half of that line's end. */
  let returned = false;

  function line(text: string): void {
    if (text === "") {
      if (data.length > 0) onEvent({ name: name || "message", data: data.join("\n") });
      name = "";
      data = [];
      length = 0;
      return;
    }
    const [, field = "", value = ""] = /^([^:]*):? ?(.*)$/s.exec(text) ?? [];
    if (field === "event") name = value;
    else if (field === "data") {
      data.push(value);
      length += value.length;
    }
  }

  const isLineEnd = (code: number) => code === newline || code === carriageReturn;

  return {
    push(text) {
      const lineEnd = /\r\n|\n|\r/g;
      let from = returned && text.charCodeAt(0) === newline ? 1 : 0;
      if (text !== "") returned = false;
      for (;;) {
        // Between two events an empty line says nothing.
        if (rest === "" && data.length === 0 && name === "") while (isLineEnd(text.charCodeAt(from))) from++;
        lineEnd.lastIndex = from;
        const end = lineEnd.exec(text);
        if (!end) break;
        line(rest + text.slice(from, end.index));
        rest = "";
        from = lineEnd.lastIndex;
        returned = end[0] === "\r" && from === text.length;
      }
      rest += text.slice(from);
      return length + rest.length <= longestEvent;
    },
  };
}
