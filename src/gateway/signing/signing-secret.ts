import { createHmac } from "node:crypto";
import { Secret } from "../../secret.js";

/** What signs a key's requests. */
export interface Signer {
  /** The key's, which is public. */
  id: string;
  secret: Secret;
}

const keyShape = /^clm_([a-z0-9]{8})_([A-Za-z0-9_-]{43})$/;

/**
 * Who a whole key, `clm_<id>_<secret>`, is and what signs for it; nothing when it is no key. Both ends derive the signing
 * secret, so that the gateway need not keep the key to verify what it signed.
 */
export function signerOf(key: Secret): Signer | undefined {
  const [, id, secret] = keyShape.exec(key.reveal()) ?? [];
  if (id === undefined || secret === undefined) return undefined;
  return { id, secret: new Secret(createHmac("sha256", secret).update("clm signing v1").digest("hex")) };
}
