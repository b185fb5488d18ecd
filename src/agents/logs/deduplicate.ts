import type { LogEntry } from "./entry.js";

/** Milliseconds between the same entry in a file and in the journal. */
const maxDistance = 2000;
const remembered = 2000;
/** Characters that are compared, and lines of an entry that may stand alone elsewhere. */
const maxCompared = 1000;
const maxLines = 200;

interface KnownLine {
  at: number;
  text: string;
  sources: string[];
  /** Not the first line of its entry. */
  continues: boolean;
}

/** Agents write an entry to several files and to stderr. The same text later, or in the same source, is another one. */
export class Deduplicator {
  readonly #recent: KnownLine[][] = [];
  readonly #byText = new Map<string, KnownLine[]>();

  isNew({ at, source, text }: LogEntry): boolean {
    const [first = "", ...more] = withoutTag(text)
      .split("\n", maxLines)
      .map((line) => line.slice(0, maxCompared));
    const same = this.#byText.get(first)?.find((line) => !line.sources.includes(source) && isSame(line, at, source));
    same?.sources.push(source);
    if (same) return false;
    const lines = [first, ...more.filter((line) => line !== "")];
    this.#remember(lines.map((line, index) => ({ at, text: line, sources: [source], continues: index > 0 })));
    return true;
  }

  #remember(lines: KnownLine[]): void {
    for (const line of lines) this.#byText.set(line.text, [...(this.#byText.get(line.text) ?? []), line]);
    this.#recent.push(lines);
    if (this.#recent.length <= remembered) return;
    for (const old of this.#recent.shift() ?? []) {
      const left = (this.#byText.get(old.text) ?? []).filter((line) => line !== old);
      if (left.length > 0) this.#byText.set(old.text, left);
      else this.#byText.delete(old.text);
    }
  }
}

/** Files name the session of a record (`[id] logger: …`); the journal's copy of it does not. */
const withoutTag = (text: string): string => text.replace(/^\[[^\]\n]*\] (?=[A-Za-z_][\w.]*: )/, "");

/** Copies in files have the very same time; the journal has its own. */
const isSame = (line: KnownLine, at: number, source: string): boolean =>
  source === "journal" || (line.sources[0] === "journal" && !line.continues)
    ? Math.abs(line.at - at) <= maxDistance
    : line.at === at;

/** In the order of time, each entry once; of several copies the one in a file, which has the agent's own time. */
export function mergeEntries<E extends LogEntry>(entries: readonly E[], known = new Deduplicator()): E[] {
  const rank = ({ source }: LogEntry) => (source === "journal" ? 1 : 0);
  const ranked = [...entries].sort((a, b) => rank(a) - rank(b) || a.at - b.at);
  return ranked.filter((entry) => known.isNew(entry)).sort((a, b) => a.at - b.at);
}
