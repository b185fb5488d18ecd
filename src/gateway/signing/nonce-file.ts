import { constants } from "node:fs";
import { open } from "node:fs/promises";
import { dirname } from "node:path";
import { syncDirectory } from "../../state/atomic-file.js";

export interface NonceFile {
  /** Resolves when the lines are on the disk. A failure leaves none of them. */
  append(lines: string): Promise<void>;
  empty(): Promise<void>;
  close(): Promise<void>;
}

const newline = 10;

/** Opens or creates a file, and reads its lines. An unfinished line that a killed writer left is cut. */
export async function openNonceFile(path: string, line: (text: string) => void): Promise<NonceFile> {
  const { O_RDWR, O_CREAT, O_NOFOLLOW } = constants;
  const file = await open(path, O_RDWR | O_CREAT | O_NOFOLLOW, 0o600);
  try {
    const bytes = await file.readFile();
    let size = 0;
    for (let end = bytes.indexOf(newline); end >= 0; end = bytes.indexOf(newline, size)) {
      line(bytes.toString("latin1", size, end));
      size = end + 1;
    }
    let torn = size < bytes.length;
    // If the file's name were lost in a power cut, its lines would be too.
    if (bytes.length === 0) syncDirectory(dirname(path));

    return {
      async append(lines) {
        const more = Buffer.from(lines, "latin1");
        // Lines after an unfinished one would be read as part of it.
        if (torn) await file.truncate(size);
        torn = true;
        for (let written = 0; written < more.length; ) {
          const { bytesWritten } = await file.write(more, written, more.length - written, size + written);
          written += bytesWritten;
        }
        await file.datasync();
        size += more.length;
        torn = false;
      },
      empty: () => file.truncate(0),
      close: () => file.close(),
    };
  } catch (error) {
    await file.close();
    throw error;
  }
}
