import type { Report } from "../../remote/operations/converge.js";

/** A difference between a host and its desired state. Printed, and in JSON, it is its text. */
export type Difference = HostDifference | EntryDifference;

const kinds = ["missing", "content", "restart", "override", "removed"] as const;

/** A difference, worded by `differs` in remote/operations/library/*.sh: `missing`, `mode 0644 -> 0600`, `inactive -> started`. */
export class HostDifference {
  readonly kind: (typeof kinds)[number] | "attribute";

  constructor(readonly text: string) {
    const [first = ""] = text.split(/[ :]/, 1);
    this.kind = kinds.find((kind) => kind === first) ?? "attribute";
  }

  toJSON(): string {
    return this.text;
  }
}

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

/** Key for the path of a changed file, and for the id of the managed file there. Symbols, so that no output has them. */
export const changedPath = Symbol("path");
export const fileId = Symbol("file");

export interface Change {
  what: string;
  differences: Difference[];
  [changedPath]?: string;
  [fileId]?: string;
  /** The differences with as much of their values as may be shown. */
  details?: string[];
}

export const change = (what: string, ...differences: string[]): Change => ({
  what,
  differences: differences.map((text) => new HostDifference(text)),
});

export const changesOf = ({ results }: Pick<Report, "results">): Change[] =>
  results
    .filter(({ status }) => status === "changed" || status === "would-change")
    .map(({ id, path, differences, removes }) => ({
      ...(removes ? change(removes, "removed") : change(id, ...differences)),
      ...(path !== undefined && { [changedPath]: path }),
    }));
