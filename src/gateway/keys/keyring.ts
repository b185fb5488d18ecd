import { randomBytes, timingSafeEqual } from "node:crypto";
import type { Secret } from "../../secret.js";
import { gatewayKeyStore } from "../../state/gateway-keys.js";
import type { Secrets } from "../../state/secrets.js";
import { stampOf } from "../../state/state-file.js";
import { defined } from "../../text/defined.js";
import { type GatewayKey, isFormerSecretValid, stateOf } from "../request/gateway-key.js";
import { Refusal, unauthorized } from "../request/refusal.js";
import { type SessionScope, scopesWith } from "../request/session-scope.js";
import { hashOf, idIn, newPepper, pepperPlace, signingName } from "./mint.js";

export interface Signing {
  key: GatewayKey;
  secret: Secret;
  /** What it signed with before a rotation, while that is still valid. */
  former?: Secret;
  /** Why the key is not valid any more: only for a caller who can sign with it. */
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
  /** Signing secrets that were read, by id and name. */
  signing: Map<string, Secret | undefined>;
}

// Compared with a bearer that has no key: no bearer has this hash.
const decoy = randomBytes(32);

/** The keys as the files have them at each request: a key is revoked from the next request on. */
export class Keyring {
  readonly #store: ReturnType<typeof gatewayKeyStore>;
  /** Used while there is no pepper: no key is valid then. */
  readonly #noPepper = newPepper();
  #ring: Ring | undefined;
  #isFresh = false;

  constructor(
    configDir: string,
    private readonly secrets: Secrets,
    private readonly now: () => Date,
  ) {
    this.#store = gatewayKeyStore(configDir);
  }

  whose(bearer: string | undefined): GatewayKey {
    if (!bearer) throw missing();
    const key = this.#find(bearer);
    if (!key) throw unknown();
    const refusal = this.#ended(key) ?? (key.signed ? signatureRequired(key) : undefined);
    if (!refusal) return key;
    refusal.by = { key };
    throw refusal;
  }

  /** The key with this id and what it signs with, if it is a signed key. */
  signed(id: string): Signing | undefined {
    const key = this.#current().keys.get(id)?.key;
    const secret = key?.signed && this.#signingSecret(id, key.hash);
    if (!key || !secret) return undefined;
    const former =
      key.former && isFormerSecretValid(key, this.now()) ? this.#signingSecret(id, key.former.hash) : undefined;
    return { key, secret, ...defined({ former, ended: this.#ended(key) }) };
  }

  /** Throws when a key that was accepted a while ago is not valid any more. */
  mustStillOpen({ id, hash }: GatewayKey): void {
    const key = this.#current().keys.get(id)?.key;
    const isValid = key && (key.hash === hash || (key.former?.hash === hash && isFormerSecretValid(key, this.now())));
    const refusal = isValid ? this.#ended(key) : unknown();
    if (refusal) throw refusal;
  }

  /** Undefined for a key that may use all sessions. */
  scopeOf(key: GatewayKey): SessionScope | undefined {
    return this.#current().scopeOf(key);
  }

  #current(): Ring {
    if (this.#ring && this.#isFresh) return this.#ring;
    try {
      const seen = stampOf([this.#store.path, this.secrets.path]);
      if (this.#ring?.seen !== seen) this.#ring = { seen, ...this.#load() };
      // For all requests of the same turn of the loop: no caller can know of a change made meanwhile.
      this.#isFresh = true;
      setImmediate(() => {
        this.#isFresh = false;
      });
      return this.#ring;
    } catch (cause) {
      // The reason names files, so it is for the gateway's own output.
      const message = "The gateway cannot read its keys. Its own output says why.";
      throw new Refusal(503, "keys_unavailable", message, { cause });
    }
  }

  #load(): Omit<Ring, "seen"> {
    const bytes = (hash: string | undefined) => {
      const read = Buffer.from(hash ?? "", "hex");
      return read.length === decoy.length ? read : decoy;
    };
    const entries = Object.entries(this.#store.read().keys).map(([id, key]): [string, Entry] => [
      id,
      { key, hash: bytes(key.hash), former: bytes(key.former?.hash) },
    ]);
    const pepper = this.secrets.get(pepperPlace.instance, pepperPlace.name) ?? this.#noPepper;
    return { keys: new Map(entries), pepper, scopeOf: scopesWith(pepper), signing: new Map() };
  }

  #signingSecret(id: string, hash: string): Secret | undefined {
    const { signing } = this.#current();
    const name = signingName(hash);
    const place = `${id} ${name}`;
    if (!signing.has(place)) signing.set(place, this.secrets.get({ gateway: id }, name));
    return signing.get(place);
  }

  /** Takes the same time for every text: one hash and two comparisons. */
  #find(bearer: string): GatewayKey | undefined {
    const { keys, pepper } = this.#current();
    const id = idIn(bearer);
    const entry = keys.get(id ?? "");
    const hash = hashOf(pepper, id === undefined ? "" : bearer);
    const isCurrent = timingSafeEqual(hash, entry?.hash ?? decoy);
    const isFormer = timingSafeEqual(hash, entry?.former ?? decoy);
    return entry && (isCurrent || (isFormer && isFormerSecretValid(entry.key, this.now()))) ? entry.key : undefined;
  }

  #ended(key: GatewayKey): Refusal | undefined {
    const state = stateOf(key, this.now());
    if (state === "active") return undefined;
    const how = state === "revoked" ? `was revoked at ${key.revoked_at}` : `expired at ${key.expires_at}`;
    return unauthorized(
      `${state}_api_key`,
      `This key (${key.name}) ${how}. Create another with: clm gateway key create`,
    );
  }
}

const missing = () =>
  unauthorized(
    "missing_api_key",
    "No key was sent. Send one as 'Authorization: Bearer …'; create it with: clm gateway key create",
  );

const signatureRequired = ({ name }: GatewayKey) =>
  unauthorized(
    "signature_required",
    `Requests with this key (${name}) must be signed, and must not contain the key. For tools that cannot sign: clm gateway sign-proxy`,
  );

const unknown = () =>
  unauthorized("invalid_api_key", "This is not a key of this gateway. List its keys with: clm gateway key list");
