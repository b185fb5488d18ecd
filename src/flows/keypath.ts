import { join } from "node:path";

/** `clm` logs in to the user's hosts, `lab` to lab hosts. */
export type OwnKey = "clm" | "lab";

/** Where a key of ours is kept. */
export const keyPath = (configDir: string, name: OwnKey): string => join(configDir, "keys", `${name}_ed25519`);
