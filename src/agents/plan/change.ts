import type { Report } from "../../remote/operations/converge.js";

/** One way in which something on a host differs from what it should be. Printed, and in JSON, it is its text. */
export type Difference = HostDifference | EntryDifference;

/** As the host reports it: `missing`, `mode 0644 -> 0600`, `inactive -> started`. */
export class HostDifference {
  readonly kind: "missing" | "content" | "restart" | "override" | "removed" | "attribute";

  constructor(readonly text: string) {
    const [first = ""] = text.split(/[ :]/, 1);
    this.kind = isKind(text) ? text : first === "restart" || first === "override" ? first : "attribute";
  }

  toJSON(): string {
    return this.text;
  }
}

const isKind = (text: string): text is "missing" | "content" | "removed" =>
  text === "missing" || text === "content" || text === "removed";

/** A named part of a file, a variable or a dotted path, that is added, changed or removed. Never a value. */
export class EntryDifference {
  readonly kind = "entry";

  constructor(
    readonly sign: "+" | "~" | "-",
    readonly name: string,
  ) {}

  get text(): string {
    return `${this.sign} ${this.name}`;
  }

  toJSON(): string {
    return this.text;
  }
}

/** Where a change keeps the id of its file: for code, and in no output. */
export const fileId = Symbol("file");

/** What is different, or would be, in one thing. */
export interface Change {
  what: string;
  differences: Difference[];
  /** The id of the managed file it is about. Not printed. */
  [fileId]?: string;
  /** The same with what may be shown of the values, for a reader who wants all of it. */
  details?: string[];
}

export const change = (what: string, ...differences: string[]): Change => ({
  what,
  differences: differences.map((text) => new HostDifference(text)),
});

/** What a report says was changed, or would be. */
export const changesOf = ({ results }: Pick<Report, "results">): Change[] =>
  results
    .filter(({ status }) => status === "changed" || status === "would-change")
    .map(({ id, differences, removes }) => (removes ? change(removes, "removed") : change(id, ...differences)));
