import { randomBytes } from "node:crypto";

/** Prefix of the ids of sessions in which proofs ask their question. Listings leave them out. */
export const proofSessions = "clm-proof-";
/** A new one for each proof: the agent would load the history of an existing session. */
export const newProofSession = (): string => `${proofSessions}${randomBytes(8).toString("hex")}`;
