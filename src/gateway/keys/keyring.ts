import { randomBytes, timingSafeEqual } from "node:crypto";
import { lstatSync } from "node:fs";
import type { Secret } from "../../secret.js";
import { gatewayKeyStore } from "../../state/gateway-keys.js";
import type { Secrets } from "../../state/secrets.js";
import { identityOf } from "../../state/state-file.js";
import { Refusal } from "../refusal.js";
import { formerOpens, type GatewayKey, stateOf } from "./key.js";
import { hashOf, idIn, newPepper, pepperPlace, signingName } from "./mint.js";

export interface Keyring {
  /** The key behind a bearer, or a refusal. */
  whose(bearer: string | undefined): GatewayKey;
  /** The key with this id and what it signs with; after a rotation with grace also what it signed with before. */
  signed(id: string): { key: GatewayKey; secret: Secret; former?: Secret };
  all(): GatewayKey[];
}

interface Entry {
  key: GatewayKey;
  hash: Buffer;
  former: Buffer;
}

interface Ring {
  seen: string;
  keys: Map<string, Entry>;
  pepper: Secret;
  /** What was read of the signing secrets, by id and name. */
  signing: Map<string, Secret | undefined>;
}

/** The keys as the files have them at each request: what was revoked a moment ago opens nothing. */
export function openKeyring(configDir: string, secrets: Secrets, now: () => Date): Keyring {
  const store = gatewayKeyStore(configDir);
  // What a text is compared with that has no key: nobody can send what gives this.
  const decoy = randomBytes(32);
  const nobody = newPepper();
  let ring: Ring | undefined;

  function current(): Ring {
    try {
      const seen = [store.path, secrets.path].map(stampOf).join();
      if (ring?.seen !== seen) ring = { seen, ...load() };
      return ring;
    } catch {
      // Whoever runs the gateway learns why from the command; the caller has no business with files.
      throw new Refusal(
        503,
        "keys_unavailable",
        "The gateway cannot read its keys. On its machine: clm gateway key list",
      );
    }
  }

  function load(): Omit<Ring, "seen"> {
    const bytes = (hash: string | undefined) => {
      const read = Buffer.from(hash ?? "", "hex");
      return read.length === decoy.length ? read : decoy;
    };
    const entries = Object.entries(store.read().keys).map(([id, key]): [string, Entry] => [
      id,
      { key, hash: bytes(key.hash), former: bytes(key.former?.hash) },
    ]);
    const pepper = secrets.get(pepperPlace.instance, pepperPlace.name) ?? nobody;
    return { keys: new Map(entries), pepper, signing: new Map() };
  }

  function signingSecret(id: string, hash: string): Secret | undefined {
    const { signing } = current();
    const name = signingName(hash);
    const place = `${id} ${name}`;
    if (!signing.has(place)) signing.set(place, secrets.get({ gateway: id }, name));
    return signing.get(place);
  }

  /** Every text costs the same: one hash and two comparisons. */
  function find(bearer: string): GatewayKey | undefined {
    const { keys, pepper } = current();
    const id = idIn(bearer);
    const entry = keys.get(id ?? "");
    const hash = hashOf(pepper, id === undefined ? "" : bearer);
    const is = timingSafeEqual(hash, entry?.hash ?? decoy);
    const was = timingSafeEqual(hash, entry?.former ?? decoy);
    return entry && (is || (was && formerOpens(entry.key, now()))) ? entry.key : undefined;
  }

  function mustBeActive(key: GatewayKey): void {
    const state = stateOf(key, now());
    if (state === "active") return;
    const how = state === "revoked" ? `was revoked at ${key.revoked_at}` : `expired at ${key.expires_at}`;
    throw refused(
      `${state}_api_key`,
      `This key (${key.name}) ${how}. Another one is made with: clm gateway key create`,
    );
  }

  return {
    whose(bearer) {
      if (!bearer) {
        throw refused(
          "missing_api_key",
          "No key was sent. Send one as 'Authorization: Bearer …'; it is made with: clm gateway key create",
        );
      }
      const key = find(bearer);
      if (!key) throw unknown();
      mustBeActive(key);
      if (key.signed) {
        throw refused(
          "signature_required",
          `This key (${key.name}) opens only to signed requests, and never travels itself. What signs for a tool that cannot: clm gateway sign-proxy`,
        );
      }
      return key;
    },
    signed(id) {
      const key = current().keys.get(id)?.key;
      if (!key?.signed) throw unknown();
      mustBeActive(key);
      const secret = signingSecret(id, key.hash);
      if (!secret) throw unknown();
      const former = key.former && formerOpens(key, now()) ? signingSecret(id, key.former.hash) : undefined;
      return { key, secret, ...(former && { former }) };
    },
    all: () => [...current().keys.values()].map(({ key }) => key),
  };
}

function stampOf(path: string): string {
  const found = lstatSync(path, { throwIfNoEntry: false });
  return `${identityOf(found)} ${found?.mode}`;
}

const refused = (code: string, message: string) => new Refusal(401, code, message);

const unknown = () =>
  refused("invalid_api_key", "This is no key of this gateway. Which there are is shown by: clm gateway key list");
