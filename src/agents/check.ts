/** One thing that was checked, with an id that never changes: of a host, of an agent, of this machine. */
export interface Check<Id extends string = string> {
  id: Id;
  result: "ok" | "warn" | "fail" | "skipped";
  /** For people; code decides by the cause of a proof. */
  reason: string;
  /** What to do about it: a command to type. */
  fix?: string;
}

export const isWell = ({ result }: Check): boolean => result === "ok" || result === "skipped";
