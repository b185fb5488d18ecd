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
export const ok = (reason: string): Verdict => ({ result: "ok", reason });
export const skipped = (reason: string): Verdict => ({ result: "skipped", reason });
export const warn = (reason: string, fix?: string): Verdict => ({ result: "warn", reason, ...(fix && { fix }) });
export const fail = (reason: string, fix?: string): Verdict => ({ result: "fail", reason, ...(fix && { fix }) });
export const isWell = ({ result }: Check): boolean => result === "ok" || result === "skipped";
