import { randomBytes } from "node:crypto";

/** Digests made with it tell nothing to anybody but the host and this process. */
export const newSalt = (): string => randomBytes(8).toString("hex");
