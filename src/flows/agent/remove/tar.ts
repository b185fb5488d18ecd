import { createReadStream } from "node:fs";
import { createGunzip, type Gunzip } from "node:zlib";

const block = 512;

interface ReadOptions {
  signal?: AbortSignal;
  members?: number;
  /** A small archive can unpack to any number of bytes. */
  bytes?: number;
}

/** The file names in a tar.gz, read to its end. Throws when it is damaged, truncated or too large. */
export async function tarMembers(
  path: string,
  { signal, members = 1_000_000, bytes = 64 * 1024 ** 3 }: ReadOptions = {},
): Promise<string[]> {
  const names: string[] = [];
  let rest = Buffer.alloc(0);
  let skip = 0;
  let ended = false;
  let unpacked = 0;
  // Not a pipeline: that reports an abort instead of the error thrown here.
  const file = createReadStream(path);
  const source: Gunzip = file.on("error", (error) => source.destroy(error)).pipe(createGunzip());
  try {
    for await (const chunk of source) {
      signal?.throwIfAborted();
      unpacked += chunk.length;
      if (unpacked > bytes) throw tooMuch();
      rest = Buffer.concat([rest, chunk]);
      for (;;) {
        const passed = Math.min(skip, rest.length);
        rest = rest.subarray(passed);
        skip -= passed;
        if (skip > 0 || rest.length < block) break;
        const header = rest.subarray(0, block);
        rest = rest.subarray(block);
        if (header.every((byte) => byte === 0)) ended = true;
        else if (!ended) skip = take(header, names);
        if (names.length > members) throw tooMuch();
      }
    }
  } finally {
    file.destroy();
  }
  if (!ended) throw new Error("it is truncated");
  return names;
}

const tooMuch = (): Error => new Error("it is larger than the data of an agent can be");

/** Adds the name, and returns how many bytes of content follow, in whole blocks. */
function take(header: Buffer, names: string[]): number {
  const text = (from: number, length: number) => header.toString("utf8", from, from + length).replace(/\0.*$/s, "");
  const sum = header.reduce((total, byte, at) => total + (at >= 148 && at < 156 ? 32 : byte), 0);
  if (Number.parseInt(text(148, 8), 8) !== sum) throw new Error("a header in it is damaged");
  // Sizes of 8 GB and more are not written in octal.
  const large = (header[124] ?? 0) & 0x80;
  const size = large ? Number(header.readBigUInt64BE(128)) : Number.parseInt(text(124, 12), 8);
  const kind = text(156, 1);
  // L and K carry the long name of the next member.
  if (kind === "0" || kind === "") names.push(text(0, 100));
  return Math.ceil(size / block) * block;
}
