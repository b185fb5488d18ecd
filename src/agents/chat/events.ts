/** One server-sent event. */
export interface ServerEvent {
  /** `message` when it has no name of its own. */
  name: string;
  data: string;
}

/** Reads a stream of server-sent events, wherever it is cut into chunks. Comments, which keep a line alive, are skipped. */
export function eventReader(onEvent: (event: ServerEvent) => void): { push(text: string): void } {
  let rest = "";
  let name = "";
  let data: string[] = [];

  function line(text: string): void {
    if (text === "") {
      if (data.length > 0) onEvent({ name: name || "message", data: data.join("\n") });
      name = "";
      data = [];
      return;
    }
    const [, field = "", value = ""] = /^([^:]*):? ?(.*)$/s.exec(text) ?? [];
    if (field === "event") name = value;
    else if (field === "data") data.push(value);
  }

  return {
    push(text) {
      // A return that ends a chunk may be the first half of a line's end.
      const lines = (rest + text).split(/\r\n|\n|\r(?!$)/);
      rest = lines.pop() ?? "";
      for (const each of lines) line(each);
    },
  };
}
