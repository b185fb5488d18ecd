export interface LineReaderOptions {
  /** Only this much of a line is kept, so that one without an end fills no memory. */
  maxBytes: number;
  /** A carriage return ends a line too: programs draw their progress with it. */
  carriageReturns?: boolean;
}

const [newline, carriageReturn] = [10, 13];

export class LineReader {
  #pieces: Buffer[] = [];
  #size = 0;

  constructor(
    private readonly onLine: (line: string) => void,
    private readonly options: LineReaderOptions,
  ) {}

  push(chunk: Uint8Array): void {
    const bytes = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
    let from = 0;
    for (let end = this.#endIn(bytes, 0); end >= 0; end = this.#endIn(bytes, from)) {
      this.#keep(bytes.subarray(from, end));
      this.#flush();
      from = end + 1;
    }
    this.#keep(bytes.subarray(from));
  }

  /** The rest is a line too. */
  end(): void {
    if (this.#size > 0) this.#flush();
  }

  #endIn(bytes: Buffer, from: number): number {
    if (!this.options.carriageReturns) return bytes.indexOf(newline, from);
    const at = bytes.subarray(from).findIndex((byte) => byte === newline || byte === carriageReturn);
    return at < 0 ? at : from + at;
  }

  #keep(piece: Buffer): void {
    const room = this.options.maxBytes - this.#size;
    if (room <= 0 || piece.length === 0) return;
    // As a copy: a piece of a chunk keeps all of it.
    this.#pieces.push(Buffer.from(piece.subarray(0, room)));
    this.#size += Math.min(piece.length, room);
  }

  #flush(): void {
    const line = Buffer.concat(this.#pieces).toString("utf8");
    this.#pieces = [];
    this.#size = 0;
    this.onLine(line);
  }
}
