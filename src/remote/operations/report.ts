import { Fault } from "../../errors.js";
import { diskFull } from "../disk-full.js";
import type { Operation } from "./operation.js";

export type Status = "ok" | "would-change" | "changed" | "failed" | "skipped";

/** The result of one operation. It never holds the content of a file. */
export interface Result {
  index: number;
  /** For messages: `file /home/x/.env`. */
  id: string;
  /** The file or directory that it is about. */
  path?: string;
  /** What it removes, for messages. */
  removes?: string;
  status: Status;
  /** Differences found: `missing`, `content`, `mode 0644 -> 0600`. */
  differences: string[];
  /** A detail of an ok result: a job is `running` or `finished`. */
  note?: string;
  /** The end of the host's output, when it failed. */
  why?: string;
  cause?: "full" | "timeout";
}

export interface Report {
  results: Result[];
  changed: number;
  /** Operations that would be changed. */
  pending: number;
  /** The operation that stopped the list. */
  failed?: Result;
}

/** Operations without a result were not reached. */
export function reportOn(operations: readonly Operation[], found: ReadonlyMap<number, Result>): Report {
  const results = operations.map(
    (operation, index): Result =>
      found.get(index) ?? { ...named(operation, index), status: "skipped", differences: [] },
  );
  const failed = results.find((result) => result.status === "failed");
  const count = (status: Status) => results.filter((result) => result.status === status).length;
  return { results, changed: count("changed"), pending: count("would-change"), ...(failed && { failed }) };
}

export const named = (
  operation: Operation | undefined,
  index: number,
): Pick<Result, "index" | "id" | "path" | "removes"> => ({
  index,
  id: operation?.id ?? "",
  ...((operation?.kind === "file" || operation?.kind === "dir") && { path: operation.path }),
  ...(operation?.kind === "absent" && {
    removes: operation.removes,
    ...(operation.what === "path" && { path: operation.name }),
  }),
});

const faultFor = { full: "host-full", timeout: "remote-timeout" } as const;

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
  return [...new Set(lines.flatMap((line) => diskFull.exec(line)?.[0] ?? []))];
}
