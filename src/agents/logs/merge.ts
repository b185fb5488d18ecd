import type { Entry } from "./line.js";

/** In the order of time, each thing once. */
export function merged(entries: readonly Entry[]): Entry[] {
  const isNew = onlyOnce();
  // What stands in a file is told with the file's own time and name; the journal repeats some of it.
  const ranked = [...entries].sort((a, b) => rank(a) - rank(b) || a.at - b.at);
  return ranked.filter(isNew).sort((a, b) => a.at - b.at);
}

const rank = ({ source }: Entry): number => (source === "journal" ? 1 : 0);

/** Milliseconds between the same thing in a file and in the journal. */
const together = 2000;
/** How many are remembered. */
const memory = 2000;

/**
 * Tells whether something is said for the first time: Hermes writes the same to several files, and some of it to stderr,
 * which is the journal's. The same words again, later or in the same file, are said again.
 */
export function onlyOnce(): (entry: Entry) => boolean {
  const recent: Entry[] = [];
  return (entry) => {
    const again = recent.some(
      (other) => other.source !== entry.source && other.text === entry.text && isTogether(other, entry),
    );
    if (again) return false;
    recent.push(entry);
    if (recent.length > memory) recent.shift();
    return true;
  };
}

/** Files have the very same time; the journal has its own. */
function isTogether(a: Entry, b: Entry): boolean {
  const journal = rank(a) + rank(b) > 0;
  return Math.abs(a.at - b.at) <= (journal ? together : 0);
}
