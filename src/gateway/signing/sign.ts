import { createHash, createHmac, randomBytes } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";
import { Secret } from "../../secret.js";
import { partsIn } from "../keys/mint.js";

/**
 * A signature is the HMAC-SHA256 of this text, whose lines are separated by one newline each, with none after the last:
 *
 *     clm2
 *     METHOD      in capitals
 *     TARGET      path and query as on the request line, byte for byte: nothing is decoded, sorted or normalised
 *     TIMESTAMP   seconds since 1970, as in x-clm-timestamp
 *     NONCE       as in x-clm-nonce
 *     DIGEST      SHA-256 of the body's bytes as they travel, in lower-case hex; of no bytes when there is no body
 *     VALUE       of each covered header in the order of their names, without spaces around it; empty when it is not sent
 *
 * Covered are idempotency-key and the session headers of all agent types. A type with further ones needs a new version of the
 * scheme, because a signer has to know the list. Version 1 begins with clm1 and ends with DIGEST: it covers no header, and so is
 * accepted only from requests without those.
 *
 * No line can contain a newline, so no two requests have the same text. The HMAC's key is the signing secret as text, the 64
 * characters of its hex (`signerOf` derives it from the key), so that `openssl dgst -sha256 -hmac` gives the same. Each key
 * has its own secret, so the id need not be part of the text.
 */
export interface SignedFields {
  method: string;
  /** As on the request line. */
  url: string;
  body: Uint8Array;
  stamp: string;
  /** 16 to 64 of A-Z a-z 0-9 _ -, never used before with this key. */
  nonce: string;
  headers?: IncomingHttpHeaders;
  covered: CoveredHeaders;
}

/** Of the scheme; older programs sign by `v1`. */
export type SignatureVersion = "v1" | "v2";
/** The names of the headers that are signed, in their order. */
export type CoveredHeaders = readonly string[];

export const coveredHeaders = (sessionHeaders: readonly string[]): CoveredHeaders =>
  ["idempotency-key", ...sessionHeaders].sort();

export const headerNames = {
  key: "x-clm-key",
  stamp: "x-clm-timestamp",
  nonce: "x-clm-nonce",
  signature: "x-clm-signature",
} as const;

/** Seconds by which the clocks of both ends may differ. */
export const window = 300;

/** Whether a target can be on a request line, where Node makes each byte one character. */
export const isTarget = (url: string): boolean => /^[\x21-\xff]+$/.test(url);

export function signatureOf(secret: Secret, version: SignatureVersion, request: SignedFields): Buffer {
  const { method, url, body, stamp, nonce, headers = {}, covered } = request;
  if (!isTarget(url)) throw new RangeError("a request target has no spaces and no characters beyond one byte");
  const digest = createHash("sha256").update(body).digest("hex");
  const lines = [method.toUpperCase(), url, stamp, nonce, digest];
  const values = covered.map((name) => String(headers[name] ?? ""));
  const text = version === "v1" ? ["clm1", ...lines] : ["clm2", ...lines, ...values];
  return createHmac("sha256", secret.reveal()).update(text.join("\n"), "latin1").digest();
}

export interface UnsignedRequest extends Omit<SignedFields, "stamp" | "nonce"> {
  keyId: string;
  now: Date;
  /** A new one by default. */
  nonce?: string;
}

export function signedHeaders(
  secret: Secret,
  { keyId, now, nonce = randomBytes(18).toString("base64url"), ...request }: UnsignedRequest,
): Record<string, string> {
  const stamp = String(unixSeconds(now));
  return {
    [headerNames.key]: keyId,
    [headerNames.stamp]: stamp,
    [headerNames.nonce]: nonce,
    [headerNames.signature]: `v2=${signatureOf(secret, "v2", { ...request, stamp, nonce }).toString("hex")}`,
  };
}

export const unixSeconds = (date: Date): number => Math.floor(date.getTime() / 1000);

export interface Signer {
  /** The key's id, which is public. */
  id: string;
  secret: Secret;
}

/** Undefined when it is not a gateway key. Both ends derive the secret, so that the gateway need not store the key. */
export function signerOf(key: Secret): Signer | undefined {
  const { id, secret } = partsIn(key.reveal()) ?? {};
  if (id === undefined || secret === undefined) return undefined;
  return { id, secret: new Secret(createHmac("sha256", secret).update("clm signing v1").digest("hex")) };
}
