const nothing = Buffer.alloc(0);

/** Collects bytes by copying: millions of one-byte pieces, kept as Buffers, would take a hundred times their length. */
export class ByteBuffer {
  #bytes: Buffer = nothing;
  #length = 0;

  get length(): number {
    return this.#length;
  }

  push(piece: Buffer): void {
    const length = this.#length + piece.length;
    if (this.#length === 0) this.#bytes = piece;
    else {
      if (length > this.#bytes.length || this.#length === this.#bytes.length) {
        const wider = Buffer.allocUnsafe(Math.max(2 * this.#length, length));
        this.#bytes.copy(wider, 0, 0, this.#length);
        this.#bytes = wider;
      }
      piece.copy(this.#bytes, this.#length);
    }
    this.#length = length;
  }

  take(): Buffer {
    const bytes = this.#bytes.subarray(0, this.#length);
    this.#bytes = nothing;
    this.#length = 0;
    return bytes;
  }
}
