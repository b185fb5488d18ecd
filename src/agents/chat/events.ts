/** One server-sent event. */
export interface ServerEvent {
  /** `message` when it has no name of its own. */
  name: string;
  data: string;
}

/** Characters. No event is as long, and one that does not end must not fill the memory. */
const longestEvent = 8 * 1024 * 1024;

/**
 * Reads a stream of server-sent events, wherever it is cut into chunks. Comments, which keep a line alive, are skipped.
 * `push` says whether more is of use: it is not after an event without an end.
 */
export function eventReader(onEvent: (event: ServerEvent) => void): { push(text: string): boolean } {
  let rest = "";
  let name = "";
  let data: string[] = [];
  let length = 0;

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

  return {
    push(text) {
      // A return that ends a chunk may be the first half of a line's end.
      const lines = (rest + text).split(/\r\n|\n|\r(?!$)/);
      rest = lines.pop() ?? "";
      for (const each of lines) line(each);
      return length + rest.length <= longestEvent;
    },
  };
}
