import type { Entry } from "./line.js";

/** In the order of time, each thing once. */
export function merged<E extends Entry>(entries: readonly E[], isNew: (entry: E) => boolean = onlyOnce()): E[] {
  // What stands in a file is told with the file's own time and name; the journal repeats some of it.
  const ranked = [...entries].sort((a, b) => rank(a) - rank(b) || a.at - b.at);
  return ranked.filter(isNew).sort((a, b) => a.at - b.at);
}

const rank = ({ source }: Entry): number => (source === "journal" ? 1 : 0);

/** Milliseconds between the same thing in a file and in the journal. */
const together = 2000;
/** How many are remembered. */
const memory = 2000;
/** Characters by which two are told apart, and lines of one that may stand alone elsewhere. */
const enough = 1000;
const manyLines = 200;

/**
 * Tells whether something is said for the first time: Hermes writes the same to several files, and some of it to stderr,
 * which is the journal's and has each line alone. The same words again, later or in the same file, are said again.
 */
export function onlyOnce(): (entry: Entry) => boolean {
  const recent: Said[][] = [];
  const byWords = new Map<string, Said[]>();

  function remember(said: Said[]): void {
    for (const each of said) byWords.set(each.words, [...(byWords.get(each.words) ?? []), each]);
    recent.push(said);
    if (recent.length <= memory) return;
    for (const old of recent.shift() ?? []) {
      const left = (byWords.get(old.words) ?? []).filter((each) => each !== old);
      if (left.length > 0) byWords.set(old.words, left);
      else byWords.delete(old.words);
    }
  }

  return ({ at, source, text }) => {
    const [first = "", ...more] = untagged(text)
      .split("\n", manyLines)
      .map((line) => line.slice(0, enough));
    const same = byWords.get(first) ?? [];
    const again = same.find((said) => !said.in.includes(source) && isTogether(said, { at, source }));
    again?.in.push(source);
    if (again) return false;
    const lines = [first, ...more.filter((line) => line !== "")];
    remember(lines.map((words, line) => ({ at, words, in: [source], part: line > 0 })));
    return true;
  };
}

/** The files name the session a record is about (`[id] logger: …`); the journal's copy of the same record does not. */
const untagged = (text: string): string => text.replace(/^\[[^\]\n]*\] (?=[A-Za-z_][\w.]*: )/, "");

interface Said {
  at: number;
  words: string;
  /** Where. */
  in: string[];
  /** It goes on with another line. */
  part: boolean;
}

/** Files have the very same time; the journal has its own. */
function isTogether(said: Said, { at, source }: Pick<Entry, "at" | "source">): boolean {
  if (source === "journal" || (said.in[0] === "journal" && !said.part)) return Math.abs(said.at - at) <= together;
  return said.at === at;
}
