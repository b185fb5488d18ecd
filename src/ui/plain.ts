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

/** The same on one line, for a table's cell or a progress line. */
export const oneLine = (text: string): string => plain(text.replace(/\s+/g, " ")).trim();
