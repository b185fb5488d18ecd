import { createHash } from "node:crypto";
import { Fault } from "../../errors.js";
import { CutShort, type Opened } from "./open.js";

export interface Digest {
  size: number;
  sha256: string;
}

export const digestOf = (bytes: Uint8Array): Digest => ({
  size: bytes.length,
  sha256: createHash("sha256").update(bytes).digest("hex"),
});

export const sameDigest = (a: Digest, b: Digest): boolean => a.size === b.size && a.sha256 === b.sha256;

export const digestText = ({ size, sha256 }: Digest): string => `${size} bytes, sha256 ${sha256}`;
type OnBytes = (count: number) => void;

/** Reads the pinned bytes; stops at the first byte too many. */
export async function takePinned(from: string, opened: Opened, pinned: Digest, onBytes: OnBytes): Promise<Buffer> {
  const { bytes, trouble } = await take(opened, pinned.size, onBytes);
  const seen = digestOf(bytes);
  if (!trouble && sameDigest(seen, pinned)) return bytes;
  const remark = isWebPage(bytes) ? "it is a web page, not a script" : trouble;
  throw new Fault("integrity", `${from} did not return the pinned installer`, {
    why: [`pinned: ${digestText(pinned)}`, `seen:   ${digestText(seen)}`, ...(remark ? [remark] : [])],
    data: { from, expected: { size: pinned.size, sha256: pinned.sha256 }, seen },
  });
}

/** Reads a script that is not pinned yet. */
export async function takeScript(from: string, opened: Opened, most: number, onBytes: OnBytes): Promise<Buffer> {
  const { bytes, trouble } = await take(opened, most, onBytes);
  const wrong = trouble ?? whyNoScript(bytes);
  if (!wrong) return bytes;
  throw new Fault("integrity", `${from} did not return a shell script`, {
    why: wrong,
    data: { from, seen: digestOf(bytes) },
  });
}

function whyNoScript(bytes: Buffer): string | undefined {
  if (bytes.length === 0) return "it is empty";
  if (isWebPage(bytes)) return "it is a web page, not a script";
  return bytes.subarray(0, 2).toString("latin1") === "#!" ? undefined : "it does not begin with #!, as a script does";
}

const isWebPage = (bytes: Buffer): boolean =>
  /^\s*<(!doctype|html|head|\?xml)/i.test(bytes.subarray(0, 200).toString("latin1"));

async function take(opened: Opened, most: number, onBytes: OnBytes): Promise<{ bytes: Buffer; trouble?: string }> {
  const chunks: Buffer[] = [];
  let count = 0;
  try {
    for await (const chunk of opened.chunks) {
      chunks.push(chunk);
      count += chunk.length;
      onBytes(count);
      if (count > most) return { bytes: Buffer.concat(chunks), trouble: `it is longer than ${most} bytes` };
    }
  } catch (error) {
    if (!(error instanceof CutShort)) throw error;
    return { bytes: Buffer.concat(chunks), trouble: `it was cut short: ${error.message}` };
  }
  return { bytes: Buffer.concat(chunks) };
}
