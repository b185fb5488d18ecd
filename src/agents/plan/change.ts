import type { Report } from "../../remote/operations/converge.js";

/** What is different, or would be, in one thing. Names only, never a value. */
export interface Change {
  what: string;
  differences: string[];
  /** The same with what may be shown of the values, and how a text differs; for who wants to know it closely. */
  details?: string[];
}

/** What a look at a host would change there, or a change of it did. */
export const changesOf = ({ results }: Pick<Report, "results">): Change[] =>
  results
    .filter(({ status }) => status === "changed" || status === "would-change")
    .map(({ id, differences }) =>
      id.startsWith("no ") ? { what: id.slice(3), differences: ["removed"] } : { what: id, differences },
    );
