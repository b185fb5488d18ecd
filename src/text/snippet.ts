const before = 40;
const after = 100;

/** The part of a text around the first of these words, on one line. */
export function snippetOf(text: string, terms: readonly string[]): string {
  const line = text.replace(/\s+/g, " ").trim();
  const lower = line.toLowerCase();
  const paths = terms.map((term) => lower.indexOf(term.toLowerCase())).filter((at) => at >= 0);
  const at = Math.max(0, Math.min(...(paths.length > 0 ? paths : [0])) - before);
  // Starts at a word, if one begins near enough.
  const space = at === 0 ? -1 : line.indexOf(" ", at);
  const start = space >= 0 && space < at + 20 ? space + 1 : at;
  const end = start + before + after;
  return `${start > 0 ? "…" : ""}${wholeCharacters(line.slice(start, end))}${end < line.length ? "…" : ""}`;
}

export const beginningOf = (text: string, length: number): string => {
  const line = text.replace(/\s+/g, " ").trim();
  return line.length > length ? `${wholeCharacters(line.slice(0, length))}…` : line;
};

/** Without half a surrogate pair left by a cut. */
const wholeCharacters = (text: string): string => text.replace(/^[\udc00-\udfff]|[\ud800-\udbff]$/g, "");
