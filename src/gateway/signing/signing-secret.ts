import { createHmac } from "node:crypto";
import { Secret } from "../../secret.js";
import { partsIn } from "../keys/mint.js";

/** What signs a key's requests. */
export interface Signer {
  /** The key's, which is public. */
  id: string;
  secret: Secret;
}

/**
 * Who a whole key, `clm_<id>_<secret>`, is and what signs for it; nothing when it is no key. Both ends derive the signing
 * secret, so that the gateway need not keep the key to verify what it signed.
 */
export function signerOf(key: Secret): Signer | undefined {
  const parts = partsIn(key.reveal());
  if (!parts) return undefined;
  return {
    id: parts.id,
    secret: new Secret(createHmac("sha256", parts.secret).update("clm signing v1").digest("hex")),
  };
}
