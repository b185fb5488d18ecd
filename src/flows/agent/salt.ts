import { randomBytes } from "node:crypto";

/** Known only to the host and this process, so that a guess cannot be tested against a digest. */
export const newSalt = (): string => randomBytes(8).toString("hex");
