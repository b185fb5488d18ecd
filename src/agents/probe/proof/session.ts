import { randomBytes } from "node:crypto";

/** What the ids of sessions begin with that proofs ask their question in. Listings leave them out. */
export const proofSessions = "clm-proof-";

/** An id of its own for each: the agent loads what was said before in a session that is there already. */
export const newProofSession = (): string => `${proofSessions}${randomBytes(8).toString("hex")}`;
