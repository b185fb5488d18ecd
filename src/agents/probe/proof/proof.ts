import type { Check } from "../../check.js";
import type { ProofId } from "../../manifest/proof-ids.js";

export type { ProofId };

export interface Proof extends Check<ProofId> {
  cause?: ProofCause;
}

export type ProofVerdict = Omit<Proof, "id">;

/** Why a proof failed, where something depends on it. */
export type ProofCause =
  /** The process has not been up for long enough yet. */
  | "young"
  /** The unit is stopped or failed, and nothing will start it. */
  | "down"
  | "no-listener"
  | "foreign-listener"
  /** A channel is not connected and may still be. */
  | "connecting"
  /** A channel was refused, and the agent does not try again. */
  | "refused"
  /** The agent did not respond at all. */
  | "no-answer";

/** Proofs that depend on services outside of the agent: an agent that fails one of them may still be started. */
const outside: readonly ProofId[] = ["chat", "channels", "mcp"];
export const isOutside = (id: ProofId): boolean => outside.includes(id);

export const isProven = (proofs: Proof[]): boolean =>
  proofs.length > 0 && proofs.every(({ result }) => result !== "fail");
