import { homedir } from "node:os";
import { resolve } from "node:path";

/** A key file as it is recorded: whatever directory clm is run from later, it is the same file. */
export const identityFrom = (typed: string | undefined): string | undefined =>
  typed && resolve(typed.replace(/^~(?=\/)/, homedir()));
