export interface LineReader {
  push(chunk: Buffer): void;
  /** Nothing more comes: what is left is a line too. */
  end(): void;
}

/** Cuts bytes into lines. Only the first `maxBytes` of a line are kept, so that one without an end fills no memory. */
export function lineReader(maxBytes: number, take: (line: string) => void): LineReader {
  let pieces: Buffer[] = [];
  let size = 0;

  function keep(piece: Buffer): void {
    const room = maxBytes - size;
    if (room <= 0 || piece.length === 0) return;
    // As a copy: a piece of a chunk keeps all of it.
    pieces.push(Buffer.from(piece.subarray(0, room)));
    size += Math.min(piece.length, room);
  }

  function flush(): void {
    const line = Buffer.concat(pieces).toString("utf8");
    pieces = [];
    size = 0;
    take(line);
  }

  return {
    push(chunk) {
      let from = 0;
      for (let end = chunk.indexOf(10); end >= 0; end = chunk.indexOf(10, from)) {
        keep(chunk.subarray(from, end));
        flush();
        from = end + 1;
      }
      keep(chunk.subarray(from));
    },
    end() {
      if (size > 0) flush();
    },
  };
}
