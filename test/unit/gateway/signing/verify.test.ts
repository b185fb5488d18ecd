import { readFileSync } from "node:fs";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { signatureCovers } from "../../../../src/flows/gateway/covered-headers.js";
import type { Keyring } from "../../../../src/gateway/keys/keyring.js";
import type { GatewayKey } from "../../../../src/gateway/request/gateway-key.js";
import { Refusal } from "../../../../src/gateway/request/refusal.js";
import { signatureOf, signedHeaders, signerOf } from "../../../../src/gateway/signing/sign.js";
import { mustBeSignable, mustBeSigned, type SignedRequest } from "../../../../src/gateway/signing/verify.js";
import { Secret } from "../../../../src/secret.js";
import { covered } from "./covered.js";
import { refusalOf } from "./refusal-of.js";

interface Vectors {
  key: string;
  id: string;
  signing: string;
  requests: {
    about: string;
    method: string;
    url: string;
    body: string;
    stamp: number;
    nonce: string;
    headers?: Record<string, string>;
    /** Only where there are no headers. */
    v1?: string;
    v2: string;
  }[];
}

const vectors: Vectors = parse(readFileSync("test/cases/gateway/signing.yaml", "utf8"));
const secret = new Secret(vectors.signing);

const gatewayKey: GatewayKey = {
  id: vectors.id,
  name: "ci",
  hash: "",
  agents: ["*"],
  role: "chat",
  created_at: "2026-01-01T00:00:00Z",
  signed: true,
};

/** A gateway's state: a key, another with a different secret, and the used nonces in memory. */
function gateway(now: Date) {
  const used: string[] = [];
  const other: GatewayKey = { ...gatewayKey, id: "0ther000" };
  return {
    used,
    covered,
    now: () => now,
    keyring: {
      signed(id: string): ReturnType<Keyring["signed"]> {
        if (id === "r3v0k3d0") return { key: gatewayKey, secret, ended: new Refusal(401, "revoked_api_key", "it was") };
        if (id === gatewayKey.id) return { key: gatewayKey, secret };
        if (id === "r0tated0") return { key: gatewayKey, secret: new Secret("new"), former: secret };
        if (id === other.id) return { key: other, secret: new Secret("another") };
        return undefined;
      },
    },
    nonces: {
      async use(id: string, nonce: string) {
        if (used.includes(`${id} ${nonce}`)) throw new Refusal(401, "request_replayed", "again");
        used.push(`${id} ${nonce}`);
      },
    },
  };
}

const at = new Date("2026-01-01T00:00:00.900Z");
const plain = { method: "POST", url: "/v1/chat/completions?x=1", body: Buffer.from('{"model":"ada"}') };
const nonce = "abcdefghijklmnop";
const signed = (request = plain, now = at): SignedRequest => ({
  ...request,
  headers: signedHeaders(secret, { ...request, keyId: vectors.id, now, nonce, covered }),
});

describe("what openssl signed", () => {
  it("has the same signing secret", () => {
    const signer = signerOf(new Secret(vectors.key));
    expect([signer?.id, signer?.secret.reveal()]).toEqual([vectors.id, vectors.signing]);
  });

  it.each(vectors.requests.map((each) => [each.about, each] as const))("%s", async (_, each) => {
    const { method, url, stamp } = each;
    const request = { method, url, body: Buffer.from(each.body, "base64") };
    const now = new Date(stamp * 1000);
    const routed = each.headers ?? {};
    const toSign = { ...request, keyId: vectors.id, now, nonce: each.nonce, headers: routed, covered };
    const headers = { ...routed, ...signedHeaders(secret, toSign) };
    expect(headers).toEqual({
      ...routed,
      "x-clm-key": vectors.id,
      "x-clm-timestamp": String(stamp),
      "x-clm-nonce": each.nonce,
      "x-clm-signature": `v2=${each.v2}`,
    });
    const accepted = { key: gatewayKey, nonce: each.nonce };
    expect(await mustBeSigned({ ...request, headers }, gateway(now))).toEqual(accepted);
    if (each.v1 === undefined) return;
    const older = { ...headers, "x-clm-signature": `v1=${each.v1}` };
    expect(await mustBeSigned({ ...request, headers: older }, gateway(now))).toEqual(accepted);
  });
});

it.each(["", "clm_", "sk-123", `${vectors.key}x`, vectors.key.slice(1), vectors.key.toUpperCase(), `${vectors.key}\n`])(
  "is no key: %j",
  (text) => expect(signerOf(new Secret(text))).toBeUndefined(),
);

it("signs no target that cannot be sent unchanged", () => {
  for (const url of ["/a b", "/a\nb", "/Ł", ""]) {
    expect(() => signedHeaders(secret, { ...plain, url, keyId: vectors.id, now: at, nonce, covered })).toThrow(
      RangeError,
    );
  }
});

describe("is refused", () => {
  const header = (name: string, value: string | string[] | undefined): SignedRequest => {
    const request = signed();
    return { ...request, headers: { ...request.headers, [name]: value } };
  };

  it.each(["x-clm-key", "x-clm-timestamp", "x-clm-nonce", "x-clm-signature"])("without %s", async (name) => {
    const checking = gateway(at);
    const refusal = await refusalOf(mustBeSigned(header(name, undefined), checking));
    expect([refusal.status, refusal.code]).toEqual([401, "signature_missing"]);
    expect(refusal.message).toContain(`lacks ${name}.`);
    expect(checking.used).toEqual([]);
  });

  it.each([
    ["an id in capitals", "x-clm-key", vectors.id.toUpperCase()],
    ["an id that came twice", "x-clm-key", `${vectors.id}, ${vectors.id}`],
    ["a list of ids", "x-clm-key", [vectors.id]],
    ["no id in it", "x-clm-key", ""],
    ["a name of every object", "x-clm-key", "__proto__"],
    ["a stamp with a fraction", "x-clm-timestamp", "1767225600.5"],
    ["a stamp with a zero before it", "x-clm-timestamp", "01767225600"],
    ["a stamp below nothing", "x-clm-timestamp", "-1"],
    ["a stamp in powers", "x-clm-timestamp", "17e8"],
    ["a stamp without end", "x-clm-timestamp", "1".repeat(13)],
    ["a short nonce", "x-clm-nonce", "a".repeat(15)],
    ["a long nonce", "x-clm-nonce", "a".repeat(65)],
    ["a nonce of another alphabet", "x-clm-nonce", "abcdefghijklmno="],
    ["a nonce with a newline", "x-clm-nonce", `${nonce}\n`],
    ["a signature of no version", "x-clm-signature", "a".repeat(64)],
    ["a signature of the next version", "x-clm-signature", `v3=${"a".repeat(64)}`],
    ["half a signature", "x-clm-signature", `v1=${"a".repeat(32)}`],
    ["a signature that is no hex", "x-clm-signature", `v1=${"g".repeat(64)}`],
    ["a megabyte of signature", "x-clm-signature", `v1=${"a".repeat(1_000_000)}`],
    ["a right shape and nothing more", "x-clm-signature", `v1=${"a".repeat(64)}`],
    ["the signature in capitals", "x-clm-signature", String(signed().headers["x-clm-signature"]).toUpperCase()],
    ["another key's id", "x-clm-key", "0ther000"],
  ])("%s", async (_, name, value) => {
    const checking = gateway(at);
    const refusal = await refusalOf(mustBeSigned(header(name, value), checking));
    // Always the same message, whatever is wrong.
    expect([refusal.status, refusal.code, refusal.message]).toEqual([
      ...[401, "signature_invalid"],
      "The signature of this request is invalid. List the keys, and which of them sign, with: clm gateway key list",
    ]);
    expect(checking.used).toEqual([]);
  });

  it("of an unknown key, with the same message as a wrong one", async () => {
    const request = header("x-clm-key", "n0b0dy00");
    const unknown = await refusalOf(mustBeSigned(request, gateway(at)));
    const wrong = await refusalOf(mustBeSigned(header("x-clm-key", "0ther000"), gateway(at)));
    expect([unknown.status, unknown.code, unknown.message]).toEqual([wrong.status, "signature_invalid", wrong.message]);
    expect(() => mustBeSignable(request.headers, gateway(at))).toThrow(wrong.message);
  });

  it("of a revoked key: reported only to callers who can sign with it", async () => {
    const checking = gateway(at);
    const request = header("x-clm-key", "r3v0k3d0");
    const told = await refusalOf(mustBeSigned(request, checking));
    expect([told.code, told.by]).toMatchObject(["revoked_api_key", { key: { id: vectors.id } }]);
    const stranger = { ...request, url: "/v1/other" };
    expect((await refusalOf(mustBeSigned(stranger, checking))).code).toBe("signature_invalid");
    expect(() => mustBeSignable(stranger.headers, checking)).not.toThrow();
    expect(checking.used).toEqual([]);
  });

  it.each([
    [-301, "signed 301 s before the gateway's time"],
    [301, "signed 301 s after the gateway's time"],
    [-86_400, "signed 86400 s before the gateway's time"],
  ])("%i s from now", async (apart, told) => {
    const checking = gateway(at);
    const refusal = await refusalOf(mustBeSigned(signed(plain, seconds(apart)), checking));
    expect([refusal.status, refusal.code]).toEqual([401, "signature_stale"]);
    expect(refusal.message).toContain(told);
    expect(checking.used).toEqual([]);
  });

  it("the second time", async () => {
    const checking = gateway(at);
    const request = signed();
    await mustBeSigned(request, checking);
    const { code, by } = await refusalOf(mustBeSigned(request, checking));
    expect(code).toBe("request_replayed");
    // Of whom this is certain, and goes into the audit log.
    expect(by).toMatchObject({ key: { id: vectors.id }, nonce: request.headers["x-clm-nonce"] });
  });
});

describe("a routing header", () => {
  const names = covered;
  it("is signed, and no other", async () => expect(await signatureCovers()).toEqual(covered));

  const routed = (headers: Record<string, string>): SignedRequest => ({
    ...plain,
    headers: {
      ...headers,
      ...signedHeaders(secret, { ...plain, keyId: vectors.id, now: at, nonce, headers, covered }),
    },
  });

  it.each(names)("%s is added, changed or taken away: refused, and uses no nonce up", async (name) => {
    const [with1, without] = [routed({ [name]: "mine" }), routed({})];
    const { [name]: _, ...rest } = with1.headers;
    const wrong: SignedRequest["headers"][] = [
      { ...without.headers, [name]: "theirs" },
      { ...with1.headers, [name]: "theirs" },
      { ...with1.headers, [name]: "mine, theirs" },
      rest,
    ];
    const checking = gateway(at);
    for (const headers of wrong) {
      const refusal = await refusalOf(mustBeSigned({ ...plain, headers }, checking));
      expect([refusal.status, refusal.code]).toEqual([401, "signature_invalid"]);
    }
    expect(checking.used).toEqual([]);
    expect(await mustBeSigned(with1, checking)).toEqual({ key: gatewayKey, nonce });
  });

  it("of one name is not taken for that of another", async () => {
    const { "x-hermes-session-id": id, ...rest } = routed({ "x-hermes-session-id": "mine" }).headers;
    const moved = { ...plain, headers: { ...rest, "x-hermes-session-key": id } };
    expect((await refusalOf(mustBeSigned(moved, gateway(at)))).code).toBe("signature_invalid");
  });

  it.each(names)("%s beside a signature of version 1 is refused, which does not cover it", async (name) => {
    const stamp = String(Math.floor(at.getTime() / 1000));
    const older = signatureOf(secret, "v1", { ...plain, stamp, nonce, covered }).toString("hex");
    const headers = { ...routed({}).headers, "x-clm-signature": `v1=${older}` };
    const checking = gateway(at);
    const refusal = await refusalOf(mustBeSigned({ ...plain, headers: { ...headers, [name]: "theirs" } }, checking));
    expect([refusal.status, refusal.code]).toEqual([401, "signature_incomplete"]);
    expect(refusal.message).toContain(name);
    expect(checking.used).toEqual([]);
    expect(await mustBeSigned({ ...plain, headers }, checking)).toEqual({ key: gatewayKey, nonce });
  });
});

const seconds = (apart: number) => new Date(at.getTime() + apart * 1000);

it.each([-300, 300, 0])("is taken %i s from now", async (apart) => {
  expect(await mustBeSigned(signed(plain, seconds(apart)), gateway(at))).toEqual({ key: gatewayKey, nonce });
});

it("is accepted with the previous secret of a rotated key", async () => {
  const request = signed();
  request.headers["x-clm-key"] = "r0tated0";
  expect(await mustBeSigned(request, gateway(at))).toEqual({ key: gatewayKey, nonce });
  const wrong = { ...request, url: "/v1/other" };
  expect((await refusalOf(mustBeSigned(wrong, gateway(at)))).code).toBe("signature_invalid");
});

describe("with any changed byte", () => {
  const text = (length: { minLength: number; maxLength: number }) =>
    fc.string({ ...length, unit: fc.integer({ min: 0x21, max: 0xff }).map((code) => String.fromCharCode(code)) });
  const request = fc.record({
    method: fc.constantFrom("GET", "POST", "DELETE", "PATCH"),
    url: text({ minLength: 0, maxLength: 60 }).map((rest) => `/${rest}`),
    body: fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes)),
  });
  const parts = ["method", "url", "body", "x-clm-key", "x-clm-timestamp", "x-clm-nonce", "x-clm-signature"] as const;

  it("it is refused, and uses no nonce up", async () => {
    await fc.assert(
      fc.asyncProperty(request, fc.constantFrom(...parts), fc.nat(), fc.integer({ min: 1, max: 255 }), change),
      { numRuns: 2000 },
    );

    async function change(whole: typeof plain, part: (typeof parts)[number], where: number, by: number) {
      const right = signed(whole);
      const flipped = (value: Buffer) => {
        const bytes = Buffer.from(value);
        if (bytes.length === 0) return Buffer.from([by]);
        const index = where % bytes.length;
        bytes[index] = (bytes[index] ?? 0) ^ by;
        return bytes;
      };
      const other = (value: string) => flipped(Buffer.from(value, "latin1")).toString("latin1");
      const wrong: SignedRequest =
        part === "body"
          ? { ...right, body: flipped(right.body) }
          : part === "method" || part === "url"
            ? { ...right, [part]: other(right[part]) }
            : { ...right, headers: { ...right.headers, [part]: other(String(right.headers[part])) } };
      // A method is signed in capitals: no server lets the small letters in.
      fc.pre(part !== "method" || wrong.method.toUpperCase() !== right.method);
      const checking = gateway(at);
      const { code } = await refusalOf(mustBeSigned(wrong, checking));
      expect(["signature_invalid", "signature_stale"]).toContain(code);
      expect(checking.used).toEqual([]);
      await mustBeSigned(right, checking);
    }
  });
});
