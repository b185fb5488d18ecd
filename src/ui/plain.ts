import { stripVTControlCharacters } from "node:util";

// Control characters, and the ones that make a terminal show text in another order than it is written.
const unseen = /[\p{Cc}\p{Bidi_C}]/gu;

/**
 * Text that came from somewhere else, safe to show: no escape sequences, no control characters. Lines and tabs stay.
 * Without this a host could move the cursor, set the window's title or make a message read differently.
 */
export function plain(text: string): string {
  return stripVTControlCharacters(text).replace(unseen, (c) => (c === "\n" || c === "\t" ? c : ""));
}

// An escape sequence, or a pair of surrogates, of which only the beginning is there. One that is longer means nothing.
// biome-ignore lint/suspicious/noControlCharactersInRegex: it is what is looked for
const begun = /(?:\u001b|(?:\u001b\[|\u009b)[0-?]{0,64}[ -/]{0,8}|\u001b\][^\u0007\u001b\n]{0,256}|[\ud800-\udbff])$/;

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

/** The same on one line, for a table's cell or a progress line. */
export const oneLine = (text: string): string => plain(text.replace(/\s+/g, " ")).trim();
