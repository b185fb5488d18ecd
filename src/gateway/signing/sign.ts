import { createHash, createHmac } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";
import type { Secret } from "../../secret.js";
import { sessionIdHeaders } from "../session-ids.js";

/**
 * A signature says who asks for what, when, in which session and for the first time. It is the HMAC-SHA256 of this text, whose
 * lines are separated by one newline each and of which the last has none:
 *
 *     clm2
 *     METHOD      in capitals
 *     TARGET      path and query as on the request line, byte for byte: nothing is decoded, sorted or normalised
 *     TIMESTAMP   seconds since 1970, as in x-clm-timestamp
 *     NONCE       as in x-clm-nonce
 *     DIGEST      SHA-256 of the body's bytes as they travel, in lower-case hex; of no bytes when there is no body
 *     VALUE       of the header idempotency-key, without spaces around it; empty when it is not sent
 *     VALUE       of x-hermes-session-id, likewise
 *     VALUE       of x-hermes-session-key, likewise
 *
 * Version 1 begins with clm1 and ends with DIGEST: it says nothing of where a message goes, and so is taken only from requests
 * without those three headers.
 *
 * No line can hold a newline, so no two requests have the same text. The HMAC's key is the signing secret as text, the 64
 * characters of its hex (signing-secret.ts makes it of the key), so that `openssl dgst -sha256 -hmac` says the same. Each key
 * has a secret of its own: the id need not be part of the text.
 */
export interface SignedFields {
  method: string;
  url: string;
  body: Uint8Array;
  stamp: string;
  nonce: string;
  /** As they are sent; only `signedHeaderNames` matter. */
  headers?: IncomingHttpHeaders;
}

/** Of the scheme: `v1` is of older programs. */
export type SignatureVersion = "v1" | "v2";

/** The headers that say where a message goes, in the order in which they are signed. */
export const signedHeaderNames: readonly string[] = Object.values(sessionIdHeaders).sort();

export const headerNames = {
  key: "x-clm-key",
  stamp: "x-clm-timestamp",
  nonce: "x-clm-nonce",
  signature: "x-clm-signature",
} as const;

/** Seconds that the clocks of both ends may differ. */
export const window = 300;

/** Whether a target can stand on a request line, of which Node makes each byte a character and the other way round. */
export const isTarget = (url: string): boolean => /^[\x21-\xff]+$/.test(url);

export function signatureOf(secret: Secret, version: SignatureVersion, request: SignedFields): Buffer {
  const { method, url, body, stamp, nonce, headers = {} } = request;
  if (!isTarget(url)) throw new RangeError("a request target has no spaces and no characters beyond one byte");
  const digest = createHash("sha256").update(body).digest("hex");
  const lines = [method.toUpperCase(), url, stamp, nonce, digest];
  const text = version === "v1" ? ["clm1", ...lines] : ["clm2", ...lines, ...signedHeaderNames.map(valueIn(headers))];
  return createHmac("sha256", secret.reveal()).update(text.join("\n"), "latin1").digest();
}

const valueIn =
  (headers: IncomingHttpHeaders) =>
  (name: string): string =>
    String(headers[name] ?? "");

export interface UnsignedRequest {
  method: string;
  /** As it will stand on the request line. */
  url: string;
  body: Uint8Array;
  keyId: string;
  now: Date;
  /** 16 to 64 of A-Z a-z 0-9 _ -, never used before with this key. */
  nonce: string;
  /** The other headers of the request, in small letters. */
  headers?: IncomingHttpHeaders;
}

/** The headers that make a request a signed one. */
export function signedHeaders(secret: Secret, { keyId, now, ...request }: UnsignedRequest): Record<string, string> {
  const stamp = String(unixSeconds(now));
  return {
    [headerNames.key]: keyId,
    [headerNames.stamp]: stamp,
    [headerNames.nonce]: request.nonce,
    [headerNames.signature]: `v2=${signatureOf(secret, "v2", { ...request, stamp }).toString("hex")}`,
  };
}

export const unixSeconds = (date: Date): number => Math.floor(date.getTime() / 1000);
