import { join } from "node:path";

/** `clm` logs in to the user's hosts, `lab` to lab hosts. */
export type OwnKey = "clm" | "lab";
export const keyPath = (configDir: string, name: OwnKey): string => join(configDir, "keys", `${name}_ed25519`);
