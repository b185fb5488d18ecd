import { Fault } from "../../errors.js";

/** A host's public key: `blob` is its wire format, `type` the name in its first field. */
export interface HostKey {
  type: string;
  blob: Buffer;
}

// RFC 4253 §6.6, RFC 5656 §3.1, RFC 8709 §4 and OpenSSH's PROTOCOL.u2f: how many fields follow the type.
const fieldsAfterType = new Map([
  ["ssh-ed25519", 1],
  ["ecdsa-sha2-nistp256", 2],
  ["ecdsa-sha2-nistp384", 2],
  ["ecdsa-sha2-nistp521", 2],
  ["ssh-rsa", 2],
  ["ssh-dss", 4],
  ["sk-ssh-ed25519@openssh.com", 2],
  ["sk-ecdsa-sha2-nistp256@openssh.com", 3],
]);

export function sameKey(a: HostKey, b: HostKey): boolean {
  return a.blob.equals(b.blob);
}

/** The key line of OpenSSH's files: `<type> <base64>`. */
export function formatKey(key: HostKey): string {
  return `${key.type} ${key.blob.toString("base64")}`;
}

/** The key a host shows; throws for an incomplete key or an unknown type. */
export function hostKeyFrom(blob: Buffer): HostKey {
  const key = readBlob(blob);
  if (typeof key !== "string") return key;
  throw new Fault("host-key-unknown", "the host shows a key clm cannot read", { why: key });
}

/** Reads `<type> <base64> [comment]`; a string says why it is not a key. */
export function parseKey(line: string): HostKey | string {
  const [type = "", base64 = ""] = line.trim().split(/[ \t]+/);
  if (!fieldsAfterType.has(type)) return `'${type}' is not a key type`;
  const blob = Buffer.from(base64, "base64");
  // Node decodes what it can and skips the rest; only text that comes back the same was base64.
  if (blob.length === 0 || blob.toString("base64") !== base64) return "the key is not base64";
  const key = readBlob(blob);
  if (typeof key === "string" || key.type === type) return key;
  return `the line says ${type} but the key is ${key.type}`;
}

export function parsePublicKey(line: string): HostKey | undefined {
  const key = parseKey(line);
  return typeof key === "string" ? undefined : key;
}

function readBlob(blob: Buffer): HostKey | string {
  const fields = splitFields(blob);
  const type = fields?.[0]?.toString("latin1");
  if (!fields || type === undefined) return "the key is cut off or has something after its end";
  const expected = fieldsAfterType.get(type);
  if (expected === undefined) return "the key is of a type clm does not know";
  const [first] = fields.slice(1);
  const wrongSize = type.includes("ed25519") && first?.length !== 32;
  const [curve] = /nistp\d+/.exec(type) ?? [];
  const wrongCurve = curve !== undefined && first?.toString("latin1") !== curve;
  if (fields.length !== expected + 1 || wrongSize || wrongCurve) return `the key is not a whole ${type} key`;
  return { type, blob };
}

/** The length-prefixed strings a blob is made of; undefined when they do not fill it exactly. */
function splitFields(blob: Buffer): Buffer[] | undefined {
  const fields: Buffer[] = [];
  let at = 0;
  while (at + 4 <= blob.length) {
    const end = at + 4 + blob.readUInt32BE(at);
    if (end > blob.length) return undefined;
    fields.push(blob.subarray(at + 4, end));
    at = end;
  }
  return at === blob.length ? fields : undefined;
}
