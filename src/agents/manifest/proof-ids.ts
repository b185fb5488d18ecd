import { own } from "../../text/own-property.js";

/** The proofs of an agent. Causes in a manifest name these ids. */
export const proofIds = [
  "version",
  "files",
  "unit",
  "steady",
  "port",
  "listeners",
  "health",
  "auth.no-key",
  "auth.wrong-key",
  "auth.own-key",
  "chat",
  "channels",
  "mcp",
] as const;

/** Ids before 1.0, which users' manifests may still name. */
const formerIds: Record<string, ProofId> = {
  "gate.none": "auth.no-key",
  "gate.wrong": "auth.wrong-key",
  "gate.own": "auth.own-key",
};

export const currentId = (id: string): string => own(formerIds, id) ?? id;
export type ProofId = (typeof proofIds)[number];
