/** One thing that was proven, or not. The same shape as a check of a host. */
export interface Proof {
  id: ProofId;
  result: "ok" | "warn" | "fail" | "skipped";
  reason: string;
  /** What to do about it. */
  fix?: string;
}

export const proofIds = [
  "version",
  "files",
  "unit",
  "steady",
  "port",
  "health",
  "gate.none",
  "gate.wrong",
  "gate.own",
  "chat",
] as const;

export type ProofId = (typeof proofIds)[number];

export const isProven = (proofs: Proof[]): boolean =>
  proofs.length > 0 && proofs.every(({ result }) => result !== "fail");
