import { type KeyPair, keyPair } from "./keypair.js";
import type { Session } from "./session.js";

/** Init: a private config directory and a key to log in with. What is there already stays as it is. */
export async function init({ configDir, gate }: Session): Promise<KeyPair | undefined> {
  const deed = { verb: "init", target: configDir, summary: `make ${configDir} and a key in it` };
  return gate.pass(deed, () => keyPair(configDir, "clm"));
}
