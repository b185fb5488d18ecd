/** One check of a host, an agent or this machine. Its id never changes. */
export interface Check<Id extends string = string> {
  id: Id;
  result: "ok" | "warn" | "fail" | "skipped";
  /** For people; code decides by the cause. */
  reason: string;
  /** Why it failed, where something depends on it. */
  cause?: string;
  /** A command to type. */
  fix?: string;
}

export type Verdict = Omit<Check, "id">;
// Without a cause, which has a type of its own where code depends on it.
type Plain = Omit<Verdict, "cause">;
export const ok = (reason: string): Plain => ({ result: "ok", reason });
export const skipped = (reason: string): Plain => ({ result: "skipped", reason });
export const warn = (reason: string, fix?: string): Plain => ({ result: "warn", reason, ...(fix && { fix }) });
export const fail = (reason: string, fix?: string): Plain => ({ result: "fail", reason, ...(fix && { fix }) });

/** The checks by their ids, without those that do not apply. */
export const checksFrom = <Id extends string, V extends Verdict>(verdicts: Record<Id, V | false | undefined>) =>
  (Object.entries(verdicts) as [Id, V | false | undefined][]).flatMap(([id, verdict]) =>
    verdict ? { id, ...verdict } : [],
  );

export const isWell = ({ result }: Check): boolean => result === "ok" || result === "skipped";
