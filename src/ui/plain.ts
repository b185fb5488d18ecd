import { StringDecoder } from "node:string_decoder";

// Control characters, and the ones that make a terminal show text in another order than it is written.
const unseen = /[\p{Cc}\p{Bidi_C}]/gu;

// What a terminal takes for a command: CSI, OSC, and the short ones. One that is longer means nothing. Written here and not
// taken from a library, because the beginning of each must be known too.
const commands =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
  /(?:\u001b\[|\u009b)[0-?]{0,64}[ -/]{0,8}[@-~]|\u001b\][^\u0007\u001b\n]{0,256}(?:\u0007|\u001b\\)|\u001b[ -/]{0,8}[0-~]/g;

/**
 * Text that came from somewhere else, safe to show: no escape sequences, no control characters. Lines and tabs stay.
 * Without this a host could move the cursor, set the window's title or make a message read differently.
 */
export function plain(text: string): string {
  return text.replace(commands, "").replace(unseen, (c) => (c === "\n" || c === "\t" ? c : ""));
}

// A command, or a pair of surrogates, of which only the beginning is there.
const begun =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: it is what is looked for
  /(?:(?:\u001b\[|\u009b)[0-?]{0,64}[ -/]{0,8}|\u001b\][^\u0007\u001b\n]{0,256}\u001b?|\u001b[ -/]{0,8}|[\ud800-\udbff])$/;

/** The same for text that comes in pieces, cut anywhere. */
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

/**
 * The same for the output of a program that comes in bytes. A carriage return ends a line: a terminal would let what follows
 * it cover what was before, as progress bars do.
 */
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

/** The same on one line, for a table's cell or a progress line. */
export const oneLine = (text: string): string => plain(text.replace(/\s+/g, " ")).trim();
