import { chmodSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import { Keyring } from "../../../../src/gateway/keys/keyring.js";
import {
  hashOf,
  idIn,
  newId,
  newKeyFor,
  newPepper,
  pepperPlace,
  signingName,
} from "../../../../src/gateway/keys/mint.js";
import type { GatewayKey } from "../../../../src/gateway/request/gateway-key.js";
import { Refusal } from "../../../../src/gateway/request/refusal.js";
import { Secret } from "../../../../src/secret.js";
import { gatewayKeyStore } from "../../../../src/state/gateway-keys.js";
import { openSecrets, type Secrets } from "../../../../src/state/secrets.js";
import { scratchDirectories } from "../../state/scratch.js";
import { sampleKey } from "./sample-key.js";

const directory = scratchDirectories();
const pepper = newPepper();
const id = "abcd1234";
const key = newKeyFor(id).reveal();
const hashed = (text: string) => hashOf(pepper, text).toString("hex");
let dir: string;
let now: Date;
let secrets: Secrets;
let ring: Keyring;

beforeEach(async () => {
  dir = directory();
  now = new Date("2026-11-16T12:00:00Z");
  secrets = openSecrets(dir);
  await secrets.set(pepperPlace.instance, pepperPlace.name, pepper, "");
  await record({});
  ring = new Keyring(dir, secrets, () => now);
});

/** Requests come in other turns of the event loop than changes of the files. */
const nextTurn = () => new Promise(setImmediate);

async function record(more: Partial<GatewayKey>) {
  await gatewayKeyStore(dir).update(() => ({ keys: { [id]: sampleKey({ hash: hashed(key), ...more }) } }));
  await nextTurn();
}

function refusal(work: () => unknown): Refusal {
  try {
    work();
  } catch (error) {
    if (error instanceof Refusal) return error;
    throw error;
  }
  throw new Error("was let in");
}

const code = (bearer: string | undefined) => refusal(() => ring.whose(bearer)).code;

it("a key that is made has its id in it, and no two are the same", () => {
  const other = newId();
  expect(idIn(newKeyFor(other).reveal())).toBe(other);
  expect(newKeyFor(other).reveal()).not.toBe(newKeyFor(other).reveal());
});

describe("a bearer", () => {
  it("that is a key's is that key", () => expect(ring.whose(key)).toMatchObject({ id, name: "codex" }));

  it.each([undefined, ""])("%j is missing", (bearer) => expect(code(bearer)).toBe("missing_api_key"));

  const others = {
    "of another id": newKeyFor("zzzz9999").reveal(),
    "with another secret": newKeyFor(id).reveal(),
    "cut short": key.slice(0, -1),
    "with more": `${key}x`,
    "of another shape": "sk-proj-0123456789",
    "that is the id": id,
    "with a prototype's name": `clm_constructor_${"a".repeat(43)}`,
    huge: "a".repeat(16_000),
  };
  it.each(Object.entries(others))("%s is refused and not repeated", (_, bearer) => {
    const refused = refusal(() => ring.whose(bearer));
    expect([refused.status, refused.code]).toEqual([401, "invalid_api_key"]);
    expect(refused.message).toContain("clm gateway key list");
    expect(refused.body()).not.toContain(bearer);
  });

  it("ends when it expires", async () => {
    await record({ expires_at: "2026-11-16T12:00:01.000Z" });
    expect(ring.whose(key).id).toBe(id);
    now = new Date("2026-11-16T12:00:01Z");
    expect(code(key)).toBe("expired_api_key");
  });

  it("is refused at the request after it was revoked, without a restart", async () => {
    expect(ring.whose(key).id).toBe(id);
    await record({ revoked_at: "2026-11-16T11:00:00.000Z" });
    expect(refusal(() => ring.whose(key))).toMatchObject({ code: "revoked_api_key", by: { key: { id } } });
    // Who does not have the key does not learn what became of it.
    expect(code(newKeyFor(id).reveal())).toBe("invalid_api_key");
  });

  it("from before a rotation works for its grace period", async () => {
    const next = newKeyFor(id).reveal();
    await record({ hash: hashed(next), former: { hash: hashed(key), until: "2026-11-16T13:00:00.000Z" } });
    expect([ring.whose(key).id, ring.whose(next).id]).toEqual([id, id]);
    now = new Date("2026-11-16T13:00:00Z");
    expect(code(key)).toBe("invalid_api_key");
    expect(ring.whose(next).id).toBe(id);
  });

  it("of a signed-only key is refused without a signature", async () => {
    await record({ signed: true });
    expect(code(key)).toBe("signature_required");
  });

  it("is unknown without the pepper, and with another", async () => {
    await secrets.unset(pepperPlace.instance, pepperPlace.name);
    expect(code(key)).toBe("invalid_api_key");
    await secrets.set(pepperPlace.instance, pepperPlace.name, newPepper(), "");
    await nextTurn();
    expect(code(key)).toBe("invalid_api_key");
    await secrets.set(pepperPlace.instance, pepperPlace.name, pepper, "");
    await nextTurn();
    expect(ring.whose(key).id).toBe(id);
  });

  it("is unknown when its record has no hash", async () => {
    for (const hash of ["", "zz", "00"]) {
      await record({ hash });
      expect(code(key)).toBe("invalid_api_key");
    }
  });
});

describe("files that cannot be read", () => {
  it("accept no key, and hide their paths", () => {
    writeFileSync(join(dir, "gateway-keys.json"), "{", { mode: 0o600 });
    const { status, code, message } = refusal(() => ring.whose(key));
    expect([status, code]).toEqual([503, "keys_unavailable"]);
    expect(message).not.toContain(dir);
  });

  it("are not used while others can read the secrets", async () => {
    expect(ring.whose(key).id).toBe(id);
    chmodSync(join(dir, "secrets.json"), 0o644);
    await nextTurn();
    expect(code(key)).toBe("keys_unavailable");
  });

  it("that are gone have no keys", () => {
    rmSync(join(dir, "gateway-keys.json"));
    expect(code(key)).toBe("invalid_api_key");
  });
});

describe("a signed key", () => {
  const signing = new Secret("5e".repeat(32));
  const keep = (hash: string, value: Secret) => secrets.set({ gateway: id }, signingName(hash), value, "");

  it("has a signing secret", async () => {
    await record({ signed: true });
    await keep(hashed(key), signing);
    const found = ring.signed(id);
    expect([found?.key.id, found?.secret.reveal(), found?.former]).toEqual([id, signing.reveal(), undefined]);
  });

  it("has both while it is rotated", async () => {
    const next = newKeyFor(id).reveal();
    await keep(hashed(key), signing);
    await keep(hashed(next), new Secret("77".repeat(32)));
    await record({
      signed: true,
      hash: hashed(next),
      former: { hash: hashed(key), until: "2026-11-16T13:00:00.000Z" },
    });
    expect(ring.signed(id)?.former?.reveal()).toBe(signing.reveal());
    now = new Date("2026-11-16T14:00:00Z");
    expect(ring.signed(id)?.former).toBeUndefined();
  });

  it.each<[string, Partial<GatewayKey>, string]>([
    ["that is revoked", { signed: true, revoked_at: "2026-01-01T00:00:00.000Z" }, "revoked_api_key"],
    ["that expired", { signed: true, expires_at: "2026-01-01T00:00:00.000Z" }, "expired_api_key"],
  ])("%s is reported to callers that can sign", async (_, more, expected) => {
    await keep(hashed(key), signing);
    await record(more);
    const found = ring.signed(id);
    expect([found?.secret.reveal(), found?.ended?.code]).toEqual([signing.reveal(), expected]);
  });

  it("without a secret, not for signing, or no key at all, is unknown", async () => {
    await record({ signed: true });
    expect([ring.signed(id), ring.signed("zzzz9999")]).toEqual([undefined, undefined]);
    await keep(hashed(key), signing);
    await record({ signed: false });
    expect(ring.signed(id)).toBeUndefined();
  });
});

describe("a key that was let in and had to wait", () => {
  const next = hashed(newKeyFor(id).reveal());
  const cases: [what: string, more: () => Partial<GatewayKey>, code: string | undefined][] = [
    ["is still one", () => ({}), undefined],
    ["was revoked", () => ({ revoked_at: "2026-11-16T12:00:00.000Z" }), "revoked_api_key"],
    ["has expired", () => ({ expires_at: "2026-11-16T11:59:59.000Z" }), "expired_api_key"],
    ["was rotated", () => ({ hash: next }), "invalid_api_key"],
    [
      "was rotated, with grace",
      () => ({ hash: next, former: { hash: hashed(key), until: "2026-11-16T13:00:00.000Z" } }),
      undefined,
    ],
    [
      "was rotated, with a grace that is over",
      () => ({ hash: next, former: { hash: hashed(key), until: "2026-11-16T11:00:00.000Z" } }),
      "invalid_api_key",
    ],
  ];
  it.each(cases)("%s", async (_, more, expected) => {
    const mine = ring.whose(key);
    await record(more());
    const check = () => ring.mustStillOpen(mine);
    if (expected) expect(refusal(check).code).toBe(expected);
    else expect(check).not.toThrow();
  });
});
