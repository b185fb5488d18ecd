import { StringDecoder } from "node:string_decoder";

// Control characters, and those that change the direction of text.
const unseen = /[\p{Cc}\p{Bidi_C}]/gu;

// Escape sequences (CSI, OSC, short ones). Not from a library: incomplete sequences must be recognised too.
const commands =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the pattern is about them
  /(?:\u001b\[|\u009b)[0-?]{0,64}[ -/]{0,8}[@-~]|\u001b\][^\u0007\u001b\n]{0,256}(?:\u0007|\u001b\\)|\u001b[ -/]{0,8}[0-~]/g;

/** Foreign text without escape sequences and control characters: a host could move the cursor or disguise a message. */
export function plain(text: string): string {
  return text.replace(commands, "").replace(unseen, (c) => (c === "\n" || c === "\t" ? c : ""));
}

// An incomplete escape sequence or surrogate pair at the end.
const begun =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the pattern is about them
  /(?:(?:\u001b\[|\u009b)[0-?]{0,64}[ -/]{0,8}|\u001b\][^\u0007\u001b\n]{0,256}\u001b?|\u001b[ -/]{0,8}|[\ud800-\udbff])$/;

/** `plain` for text that comes in pieces, cut anywhere. */
export function plainStream(): { push(chunk: string): string; flush(): string } {
  let held = "";
  return {
    push(chunk) {
      const text = held + chunk;
      const at = text.search(begun);
      held = at < 0 ? "" : text.slice(at);
      return plain(text.slice(0, text.length - held.length));
    },
    flush() {
      const rest = plain(held);
      held = "";
      return rest;
    },
  };
}

/** `plain` for a program's bytes. A carriage return ends a line: on a terminal, later text would overwrite the line. */
export function plainBytes(): { push(chunk: Buffer): string; flush(): string } {
  const decoder = new StringDecoder("utf8");
  const text = plainStream();
  let returned = false;
  const lines = (chunk: string): string => {
    const whole = returned ? `\r${chunk}` : chunk;
    returned = whole.endsWith("\r");
    return (returned ? whole.slice(0, -1) : whole).replace(/\r+\n?/g, "\n");
  };
  return {
    push: (chunk) => text.push(lines(decoder.write(chunk))),
    flush() {
      const rest = text.push(lines(decoder.end()));
      const last = returned ? "\n" : "";
      returned = false;
      return rest + text.flush() + last;
    },
  };
}

/** `plain` on one line, for a table's cell or a progress line. */
export const oneLine = (text: string): string => plain(text.replace(/\s+/g, " ")).trim();
