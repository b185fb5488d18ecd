import { timingSafeEqual } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";
import type { Secret } from "../../secret.js";
import type { Keyring, Signing } from "../keys/keyring.js";
import type { GatewayKey } from "../request/gateway-key.js";
import { Refusal, unauthorized } from "../request/refusal.js";
import type { Nonces } from "./nonces.js";
import {
  type CoveredHeaders,
  headerNames,
  isTarget,
  type SignatureVersion,
  signatureOf,
  unixSeconds,
  window,
} from "./sign.js";

export interface SignedRequest {
  method: string;
  /** Path and query as on the request line. */
  url: string;
  headers: IncomingHttpHeaders;
  body: Buffer;
}

interface VerifierParts {
  keyring: Pick<Keyring, "signed">;
  nonces: Pick<Nonces, "use">;
  covered: CoveredHeaders;
  now: () => Date;
}

// A header that was sent twice reads `a, b`, which matches none.
const shapes = {
  key: /^[a-z0-9]{8}$/,
  stamp: /^(0|[1-9][0-9]{0,11})$/,
  nonce: /^[A-Za-z0-9_-]{16,64}$/,
  // Lower case only, so that a request has one signature.
  signature: /^v[12]=[0-9a-f]{64}$/,
};

type Part = keyof typeof shapes;
const partNames = Object.keys(shapes) as Part[];

/** The signature headers of a request, and the key that they name. */
interface SignatureClaim extends Signing {
  said: Record<Part, string>;
}

/** Checks what can be checked without the body. A caller who cannot sign for a key learns nothing about it. */
export function mustBeSignable(
  headers: IncomingHttpHeaders,
  { keyring, now }: Pick<VerifierParts, "keyring" | "now">,
): SignatureClaim {
  const said = partsOf(headers);
  mustBeRecent(Number(said.stamp), unixSeconds(now()));
  const signing = keyring.signed(said.key);
  if (!signing) throw invalid();
  return { ...signing, said };
}

/** Proves a request unchanged, recent and no replay. Only a valid signature uses up a nonce, so strangers cannot. */
export async function mustBeSigned(
  request: SignedRequest,
  { nonces, covered, ...parts }: VerifierParts,
): Promise<{ key: GatewayKey; nonce: string }> {
  const { said, key, secret, former, ended } = mustBeSignable(request.headers, parts);
  if (!isTarget(request.url)) throw invalid();
  const version = said.signature.slice(0, 2) as SignatureVersion;
  const given = Buffer.from(said.signature.slice("v1=".length), "hex");
  const text = { ...request, stamp: said.stamp, nonce: said.nonce, covered };
  const isBy = (signing: Secret) => timingSafeEqual(given, signatureOf(signing, version, text));
  if (!isBy(secret) && !(former && isBy(former))) throw invalid();
  const by = { key, nonce: said.nonce };
  try {
    if (ended) throw ended;
    if (version === "v1") mustHaveNone(covered, request.headers);
    await nonces.use(key.id, said.nonce, Number(said.stamp));
  } catch (error) {
    if (error instanceof Refusal) error.by = by;
    throw error;
  }
  return by;
}

function partsOf(headers: IncomingHttpHeaders): Record<Part, string> {
  const given = partNames.map((part) => [part, headers[headerNames[part]]] as const);
  const missing = given.flatMap(([part, value]) => (value === undefined ? headerNames[part] : []));
  if (missing.length > 0) {
    throw unauthorized(
      "signature_missing",
      `This request must be signed, and lacks ${missing.join(", ")}. For tools that cannot sign: clm gateway sign-proxy`,
    );
  }
  if (!given.every(([part, value]) => typeof value === "string" && shapes[part].test(value))) throw invalid();
  return Object.fromEntries(given) as Record<Part, string>;
}

/** Dropping such a header would answer in another session than the caller meant, so the request is refused. */
function mustHaveNone(covered: CoveredHeaders, headers: IncomingHttpHeaders): void {
  const unsigned = covered.filter((name) => headers[name] !== undefined);
  if (unsigned.length === 0) return;
  throw unauthorized(
    "signature_incomplete",
    `A signature of version 1 does not cover ${unsigned.join(", ")}. Sign with version 2 (docs/gateway.md), or omit it.`,
  );
}

// Does not say what is wrong: a caller who has the key can sign again, and others should not learn it.
const invalid = (): Refusal =>
  unauthorized(
    "signature_invalid",
    "The signature of this request is invalid. List the keys, and which of them sign, with: clm gateway key list",
  );

function mustBeRecent(stamp: number, now: number): void {
  const apart = now - stamp;
  if (Math.abs(apart) <= window) return;
  const which = apart > 0 ? "before" : "after";
  throw unauthorized(
    "signature_stale",
    `This request was signed ${Math.abs(apart)} s ${which} the gateway's time; at most ${window} s are accepted: ` +
      "either it was delayed, or the clocks differ.",
  );
}
