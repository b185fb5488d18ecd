// Terminal columns of a character, by hand, because tables need nothing finer: wide (East Asian, emoji), none, or one.
const wide =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\u33ff\u3400-\u4dbf\u4e00-\ua4cf\ua960-\ua97f\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{20000}-\u{3fffd}]|\p{Emoji_Presentation}/u;
const noRoom = /[\p{M}\p{Cf}\p{Emoji_Modifier}]/u;
const flagLetter = /[\u{1f1e6}-\u{1f1ff}]/u;
const ascii = /^[ -~]*$/;

const columnsOf = (char: string): number => (noRoom.test(char) ? 0 : wide.test(char) && !flagLetter.test(char) ? 2 : 1);

/** Characters as a terminal draws them: what a zero-width joiner ties together is drawn as one. */
function* drawn(text: string): Generator<{ char: string; columns: number }> {
  let joined = false;
  for (const char of text) {
    yield { char, columns: joined ? 0 : columnsOf(char) };
    joined = char === "\u200d";
  }
}

/** How many columns a terminal needs for one line of text without escape sequences. */
export function columns(text: string): number {
  if (ascii.test(text)) return text.length;
  let sum = 0;
  for (const part of drawn(text)) sum += part.columns;
  return sum;
}

/** The text, cut to at most `max` columns; `…` says that something is missing. */
export function cut(text: string, max: number): string {
  if (columns(text) <= max) return text;
  if (max < 1) return "";
  let room = max - 1;
  let kept = "";
  for (const part of drawn(text)) {
    room -= part.columns;
    if (room < 0) break;
    kept += part.char;
  }
  return `${kept}…`;
}

export const padded = (text: string, width: number): string => text + " ".repeat(Math.max(0, width - columns(text)));
