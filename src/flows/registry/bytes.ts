import { createHash } from "node:crypto";
import { Fault } from "../../errors.js";
import type { Received } from "./read-source.js";

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

export function mustBePinned(from: string, { bytes, trouble }: Received, pinned: Digest): void {
  const seen = digestOf(bytes);
  if (!trouble && sameDigest(seen, pinned)) return;
  const remark = isWebPage(bytes) ? "it is a web page, not a script" : trouble;
  throw new Fault("integrity", `${from} did not return the pinned installer`, {
    why: [`pinned: ${digestText(pinned)}`, `seen:   ${digestText(seen)}`, ...(remark ? [remark] : [])],
    data: { from, expected: { size: pinned.size, sha256: pinned.sha256 }, seen },
  });
}

/** For an installer that is not pinned yet. */
export function mustBeScript(from: string, { bytes, trouble = whyNoScript(bytes) }: Received): void {
  if (!trouble) return;
  throw new Fault("integrity", `${from} did not return a shell script`, {
    why: trouble,
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
