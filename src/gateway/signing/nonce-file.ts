import { constants } from "node:fs";
import { open } from "node:fs/promises";
import { dirname } from "node:path";
import { syncDirectory } from "../../state/atomic-file.js";

/** A file of whole lines that grows at its end. */
export interface NonceFile {
  /** Resolves when the lines are on the disk. After a failure it is as if they had never come. */
  append(lines: string): Promise<void>;
  /** Nothing of it is needed any more; its name stays. */
  empty(): Promise<void>;
  close(): Promise<void>;
}

const newline = 10;

/** Opens a file, or makes it, and hands every line of it over. What a killed writer left behind the last whole line is cut. */
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
    // A name that is not on the disk would take its lines with it.
    if (bytes.length === 0) syncDirectory(dirname(path));

    return {
      async append(lines) {
        const more = Buffer.from(lines, "latin1");
        // What follows half a line would be read as a part of it.
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
