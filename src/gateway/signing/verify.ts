import { timingSafeEqual } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";
import type { Secret } from "../../secret.js";
import type { GatewayKey } from "../keys/key.js";
import type { Keyring, Signing } from "../keys/keyring.js";
import { Refusal } from "../refusal.js";
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

export interface Request {
  method: string;
  /** As on the request line. */
  url: string;
  headers: IncomingHttpHeaders;
  /** All of it, as it came. */
  body: Buffer;
}

interface VerifierParts {
  keyring: Pick<Keyring, "signed">;
  nonces: Pick<Nonces, "use">;
  covered: CoveredHeaders;
  now: () => Date;
}

// A header that came twice reads `a, b` and has no such shape.
const shapes = {
  key: /^[a-z0-9]{8}$/,
  stamp: /^(0|[1-9][0-9]{0,11})$/,
  nonce: /^[A-Za-z0-9_-]{16,64}$/,
  // One spelling only: capitals would be another signature for the same request.
  signature: /^v[12]=[0-9a-f]{64}$/,
};

type Part = keyof typeof shapes;
const partNames = Object.keys(shapes) as Part[];

/** What a request says of its signature, and the key that it names. */
interface SignatureClaim extends Signing {
  said: Record<Part, string>;
}

/**
 * Whether one of our keys may have signed this, as far as can be told without its body. Whatever key is named, who cannot sign
 * for it learns nothing of it.
 */
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

/**
 * Who signed a request, which is then known to be as it was signed, recent, and here for the first time. A nonce is used up
 * by a right signature alone: else whoever has seen one could use up those of others.
 */
export async function mustBeSigned(
  request: Request,
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
    throw new Refusal(
      401,
      "signature_missing",
      `This request must be signed, and lacks ${missing.join(", ")}. 'clm gateway sign-proxy' signs for tools that cannot.`,
    );
  }
  if (!given.every(([part, value]) => typeof value === "string" && shapes[part].test(value))) throw invalid();
  return Object.fromEntries(given) as Record<Part, string>;
}

/** Dropping such a header would answer in another session than the caller meant, so the request is refused. */
function mustHaveNone(covered: CoveredHeaders, headers: IncomingHttpHeaders): void {
  const unsigned = covered.filter((name) => headers[name] !== undefined);
  if (unsigned.length === 0) return;
  throw new Refusal(
    401,
    "signature_incomplete",
    `A signature of version 1 does not cover ${unsigned.join(", ")}. Sign with version 2 (docs/gateway.md), or send it without.`,
  );
}

// What of it is wrong is told to nobody: who has the key can sign again, and who has not should not learn.
const invalid = (): Refusal =>
  new Refusal(
    401,
    "signature_invalid",
    "The signature of this request is not right. Which keys there are, and which sign, is shown by: clm gateway key list",
  );

function mustBeRecent(stamp: number, now: number): void {
  const apart = now - stamp;
  if (Math.abs(apart) <= window) return;
  const which = apart > 0 ? "before" : "after";
  throw new Refusal(
    401,
    "signature_stale",
    `This request was signed ${Math.abs(apart)} s ${which} the gateway's time, and ${window} s is the most: ` +
      "either it waited for long, or the clocks differ.",
  );
}
