import { constants } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { dirname } from "node:path";
import { syncDirectory } from "../../state/atomic-file.js";

/** A file of lines. One that a killed writer left unfinished is cut by the next. */
export class NonceFile {
  /** Opens or creates a file, and reads its lines. */
  static async open(path: string, line: (text: string) => void): Promise<NonceFile> {
    const { O_RDWR, O_CREAT, O_APPEND, O_NOFOLLOW } = constants;
    const file = await open(path, O_RDWR | O_CREAT | O_APPEND | O_NOFOLLOW, 0o600);
    try {
      const text = await file.readFile("latin1");
      // If the file's name were lost in a power cut, its lines would be too.
      if (text === "") syncDirectory(dirname(path));
      const lines = text.split("\n");
      const rest = lines.pop() ?? "";
      for (const each of lines) line(each);
      return new NonceFile(file, text.length - rest.length, rest !== "");
    } catch (error) {
      await file.close();
      throw error;
    }
  }

  private constructor(
    private readonly file: FileHandle,
    /** Bytes of all whole lines. */
    private size: number,
    /** There may be bytes after them. */
    private torn: boolean,
  ) {}

  /** Resolves when the lines are on the disk. A failure leaves none of them. */
  async append(lines: string): Promise<void> {
    // Lines after an unfinished one would be read as part of it.
    if (this.torn) await this.file.truncate(this.size);
    this.torn = true;
    await this.file.appendFile(lines, "latin1");
    await this.file.datasync();
    this.size += lines.length;
    this.torn = false;
  }

  empty(): Promise<void> {
    return this.file.truncate(0);
  }

  close(): Promise<void> {
    return this.file.close();
  }
}
