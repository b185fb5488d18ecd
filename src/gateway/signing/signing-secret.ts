import { createHmac } from "node:crypto";
import { Secret } from "../../secret.js";
import { partsIn } from "../keys/mint.js";

export interface Signer {
  /** The key's id, which is public. */
  id: string;
  secret: Secret;
}

/** Undefined when it is not a gateway key. Both ends derive the secret, so that the gateway need not store the key. */
export function signerOf(key: Secret): Signer | undefined {
  const parts = partsIn(key.reveal());
  if (!parts) return undefined;
  return {
    id: parts.id,
    secret: new Secret(createHmac("sha256", parts.secret).update("clm signing v1").digest("hex")),
  };
}
