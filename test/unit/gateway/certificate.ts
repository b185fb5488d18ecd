import { generateKeyPairSync, sign } from "node:crypto";

/** A certificate for 127.0.0.1 that is signed by itself, and its key. Made of its bytes, because Node makes none. */
export function certificate(): { cert: Buffer; key: Buffer } {
  const { publicKey, privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const algorithm = sequence(oid(0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03, 0x02));
  const name = sequence(der(0x31, sequence(oid(0x55, 0x04, 0x03), der(0x0c, Buffer.from("clm test")))));
  const validity = sequence(der(0x17, Buffer.from("200101000000Z")), der(0x17, Buffer.from("491231235959Z")));
  const address = sequence(der(0x87, Buffer.from([127, 0, 0, 1])));
  const extensions = der(0xa3, sequence(sequence(oid(0x55, 0x1d, 0x11), der(0x04, address))));
  const version = der(0xa0, der(0x02, Buffer.from([2])));
  const spki = publicKey.export({ type: "spki", format: "der" });
  const body = sequence(version, der(0x02, Buffer.from([1])), algorithm, name, validity, name, spki, extensions);
  const signature = der(0x03, Buffer.concat([Buffer.from([0]), sign("sha256", body, privateKey)]));
  const text = sequence(body, algorithm, signature).toString("base64").replace(/.{64}/g, "$&\n");
  return {
    cert: Buffer.from(`-----BEGIN CERTIFICATE-----\n${text}\n-----END CERTIFICATE-----\n`),
    key: Buffer.from(privateKey.export({ type: "pkcs8", format: "pem" })),
  };
}

const sequence = (...parts: Buffer[]): Buffer => der(0x30, Buffer.concat(parts));
const oid = (...bytes: number[]): Buffer => der(0x06, Buffer.from(bytes));

function der(tag: number, content: Buffer): Buffer {
  const { length } = content;
  const size = length < 128 ? [length] : length < 256 ? [0x81, length] : [0x82, length >> 8, length & 255];
  return Buffer.concat([Buffer.from([tag, ...size]), content]);
}
