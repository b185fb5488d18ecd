import { randomBytes, timingSafeEqual } from "node:crypto";
import type { Secret } from "../../secret.js";
import { gatewayKeyStore } from "../../state/gateway-keys.js";
import type { Secrets } from "../../state/secrets.js";
import { stampOf } from "../../state/state-file.js";
import { Refusal } from "../refusal.js";
import { type SessionScope, scopesWith } from "../session-scope.js";
import { formerOpens, type GatewayKey, stateOf } from "./key.js";
import { hashOf, idIn, newPepper, pepperPlace, signingName } from "./mint.js";

export interface Keyring {
  /** The key behind a bearer, or a refusal. */
  whose(bearer: string | undefined): GatewayKey;
  /** The key with this id and what it signs with; nothing when none signs. */
  signed(id: string): Signing | undefined;
  /** Throws when a key that was let in a while ago would not be any more. */
  mustStillOpen(key: GatewayKey): void;
  /** The names that a key has for sessions; nothing when it has the agents' own. */
  scopeOf(key: GatewayKey): SessionScope | undefined;
}

export interface Signing {
  key: GatewayKey;
  secret: Secret;
  /** What it signed with before a rotation, while that still counts. */
  former?: Secret;
  /** Why it opens nothing any more: for who can sign, and nobody else. */
  ended?: Refusal;
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
  scopeOf(key: GatewayKey): SessionScope | undefined;
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
  let looked = false;

  function current(): Ring {
    if (ring && looked) return ring;
    try {
      const seen = stampOf([store.path, secrets.path]);
      if (ring?.seen !== seen) ring = { seen, ...load() };
      // Good for whoever comes in the same turn of the loop; nobody can have been told of a change made meanwhile.
      looked = true;
      setImmediate(() => {
        looked = false;
      });
      return ring;
    } catch (cause) {
      // Whoever runs the gateway is told why; the caller has no business with files.
      const what = "The gateway cannot read its keys. Its own output says why.";
      throw new Refusal(503, "keys_unavailable", what, { cause });
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
    return { keys: new Map(entries), pepper, scopeOf: scopesWith(pepper), signing: new Map() };
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

  /** Why a key opens nothing any more. */
  function ended(key: GatewayKey): Refusal | undefined {
    const state = stateOf(key, now());
    if (state === "active") return undefined;
    const how = state === "revoked" ? `was revoked at ${key.revoked_at}` : `expired at ${key.expires_at}`;
    return refused(
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
      const refusal = ended(key) ?? (key.signed ? signatureRequired(key) : undefined);
      if (!refusal) return key;
      refusal.by = { key };
      throw refusal;
    },
    signed(id) {
      const key = current().keys.get(id)?.key;
      const secret = key?.signed && signingSecret(id, key.hash);
      if (!key || !secret) return undefined;
      const former = key.former && formerOpens(key, now()) ? signingSecret(id, key.former.hash) : undefined;
      const refusal = ended(key);
      return { key, secret, ...(former && { former }), ...(refusal && { ended: refusal }) };
    },
    scopeOf: (key) => current().scopeOf(key),
    mustStillOpen({ id, hash }) {
      const key = current().keys.get(id)?.key;
      const opens = key && (key.hash === hash || (key.former?.hash === hash && formerOpens(key, now())));
      const refusal = opens ? ended(key) : unknown();
      if (refusal) throw refusal;
    },
  };
}

const refused = (code: string, message: string) => new Refusal(401, code, message);

const signatureRequired = ({ name }: GatewayKey) =>
  refused(
    "signature_required",
    `This key (${name}) opens only to signed requests, and never travels itself. What signs for a tool that cannot: clm gateway sign-proxy`,
  );

const unknown = () =>
  refused("invalid_api_key", "This is no key of this gateway. Which there are is shown by: clm gateway key list");
