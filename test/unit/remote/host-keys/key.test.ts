import { writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { isFault } from "../../../../src/errors.js";
import { formatKey, hostKeyFrom, parseKey, parsePublicKey } from "../../../../src/remote/host-keys/key.js";
import { fingerprint } from "../../../../src/text/fingerprint.js";
import { key, keys, scratch, sshKeygen } from "./cases.js";

describe.each(Object.entries(keys))("%s", (name, { line, fingerprint: printed }) => {
  test("has the fingerprint ssh-keygen prints", () => {
    const path = join(scratch(), "key.pub");
    writeFileSync(path, `${line}\n`);
    expect(fingerprint(key(name).blob)).toBe(printed);
    expect(sshKeygen("-lf", path)).toContain(` ${printed} `);
  });

  test("comes back from its line and from its blob", () => {
    expect(formatKey(key(name))).toBe(line);
    expect(hostKeyFrom(key(name).blob)).toEqual(key(name));
    expect(parsePublicKey(`${line} root@host\n`)).toEqual(key(name));
  });

  test("is refused when a byte is missing or too many", () => {
    const { type, blob } = key(name);
    fc.assert(
      fc.property(fc.nat(blob.length - 1), (length) => {
        expect(typeof parseKey(formatKey({ type, blob: blob.subarray(0, length) }))).toBe("string");
      }),
    );
    expect(parsePublicKey(formatKey({ type, blob: Buffer.concat([blob, Buffer.from([0])]) }))).toBeUndefined();
    expect(parsePublicKey(formatKey({ type, blob: Buffer.concat([blob, Buffer.alloc(4)]) }))).toBeUndefined();
  });
});

const field = (content: string | Buffer) => {
  const length = Buffer.alloc(4);
  length.writeUInt32BE(content.length);
  return Buffer.concat([length, Buffer.from(content)]);
};

test.each([
  ["nothing", Buffer.alloc(0)],
  ["no fields", Buffer.from("garbage")],
  ["an unknown type", Buffer.concat([field("ssh-foo"), field("x")])],
  ["a certificate", Buffer.concat([field("ssh-ed25519-cert-v01@openssh.com"), field("x")])],
  ["a type alone", field("ssh-ed25519")],
  ["an ed25519 key of 31 bytes", Buffer.concat([field("ssh-ed25519"), field(Buffer.alloc(31))])],
  [
    "an ecdsa key of another curve",
    Buffer.concat([field("ecdsa-sha2-nistp256"), field("nistp384"), field(Buffer.alloc(97))]),
  ],
  ["an ecdsa key of no curve", Buffer.concat([field("ecdsa-sha2-nistp256"), field(""), field(Buffer.alloc(65))])],
])("a host that shows %s is refused", (_, blob) => {
  expect(() => hostKeyFrom(blob)).toThrowError(expect.toSatisfy((error) => isFault(error, "host-key-unknown")));
});
