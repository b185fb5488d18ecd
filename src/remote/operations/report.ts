import { Fault } from "../../errors.js";
import type { Operation } from "./operation.js";

export type Status = "ok" | "would-change" | "changed" | "failed" | "skipped";

/** The result of one operation. It never holds the content of a file. */
export interface Result {
  /** Its place in the list. */
  index: number;
  /** Its name for people: `file /home/x/.env`. */
  id: string;
  /** Of an operation that removes something: what. */
  removes?: string;
  status: Status;
  /** What was found to differ: `missing`, `content`, `mode 0644 -> 0600`. */
  differences: string[];
  /** Something worth knowing about one that is ok: a job is `running` or `finished`. */
  note?: string;
  /** Why it failed: the end of what the host said. */
  why?: string;
  /** A failure that has a name of its own. */
  cause?: "full" | "timeout";
}

export interface Report {
  results: Result[];
  /** How many were changed. */
  changed: number;
  /** How many would be changed. */
  pending: number;
  /** The one that stopped the list. */
  failed?: Result;
}

/** The report on a list, in which whatever has no result yet was not reached. */
export function reportOn(operations: readonly Operation[], found: ReadonlyMap<number, Result>): Report {
  const results = operations.map(
    (operation, index): Result =>
      found.get(index) ?? { ...named(operation, index), status: "skipped", differences: [] },
  );
  const failed = results.find((result) => result.status === "failed");
  const count = (status: Status) => results.filter((result) => result.status === status).length;
  return { results, changed: count("changed"), pending: count("would-change"), ...(failed && { failed }) };
}

/** What a result says of its operation. */
export const named = (operation: Operation | undefined, index: number): Pick<Result, "index" | "id" | "removes"> => ({
  index,
  id: operation?.id ?? "",
  ...(operation?.kind === "absent" && { removes: operation.id.replace(/^no /, "") }),
});

const faultFor = { full: "host-full", timeout: "remote-timeout" } as const;

/** Throws when an operation failed; otherwise returns the report. */
export function mustSucceed(report: Report, host?: string): Report {
  const { failed } = report;
  if (!failed) return report;
  throw new Fault(failed.cause ? faultFor[failed.cause] : "remote-failed", `${failed.id} failed`, {
    why: reasonsIn(failed),
    ...(failed.cause === "full" && host && { next: `clm host check ${host}` }),
    data: { results: report.results },
  });
}

/** Of a full disk only the error itself, not which program reported it. */
function reasonsIn({ why, cause }: Result): string[] {
  const lines = why?.split("\n") ?? [];
  if (cause !== "full") return lines;
  return [...new Set(lines.flatMap((line) => /No space left on device|Disk quota exceeded/.exec(line)?.[0] ?? []))];
}
