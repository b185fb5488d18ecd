import { randomBytes } from "node:crypto";

/** Only the host and this process know it, so nobody else can test a guess against a digest. */
export const newSalt = (): string => randomBytes(8).toString("hex");
