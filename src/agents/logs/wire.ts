/** A line that a host sent: whose, where it stands, and what it says. */
export interface Heard {
  agent: number;
  source: string;
  line: string;
  /** It was longer than anybody wants to read, and its end is missing. */
  cut: boolean;
}

export interface Hearing {
  /** Bytes of a line that are kept. */
  longest: number;
  line: (heard: Heard) => void;
  /** What the script says itself: of the host, or of one of its agents. */
  remark: (words: string[], agent: number | undefined) => void;
}

interface Begun {
  pieces: Buffer[];
  size: number;
}

// Of what is no line of ours, as a host's banner.
const noise = 1 << 16;
const plus = 0x2b;

/** Takes what logs.sh sends, cut anywhere, and puts the pieces of each line together before anybody looks at it. */
export function hearing({ longest, line, remark }: Hearing): (chunk: Buffer) => void {
  const begun = new Map<string, Begun>();
  let rest: Buffer = Buffer.alloc(0);

  function take(bytes: Buffer): void {
    // A character may be cut in two: nothing is text before it is whole. The head is plain ASCII.
    const [head, number = "", source = ""] = /^(-|\d+) (\S+) ?/.exec(bytes.toString("latin1", 0, 64)) ?? [];
    if (head === undefined) return;
    if (number === "-") remark(bytes.toString("utf8", 2).split(" "), undefined);
    else if (source === "-") remark(bytes.toString("utf8", head.length).split(" "), Number(number));
    else takePiece(Number(number), source, bytes.subarray(head.length));
  }

  function takePiece(agent: number, source: string, bytes: Buffer): void {
    const key = `${agent} ${source}`;
    const so = begun.get(key) ?? { pieces: [], size: 0 };
    const piece = bytes.subarray(0, -1);
    // As a copy: a piece of a chunk keeps all of it.
    if (so.size < longest) so.pieces.push(Buffer.from(piece.subarray(0, longest - so.size)));
    so.size += piece.length;
    if (bytes.at(-1) === plus) {
      begun.set(key, so);
      return;
    }
    begun.delete(key);
    line({ agent, source, line: textOf(so.pieces), cut: so.size > longest });
  }

  return (chunk) => {
    rest = Buffer.concat([rest, chunk]);
    let from = 0;
    for (let end = rest.indexOf(10); end >= 0; end = rest.indexOf(10, from)) {
      take(rest.subarray(from, end));
      from = end + 1;
    }
    rest = rest.length - from > noise ? Buffer.alloc(0) : rest.subarray(from);
  };
}

const textOf = (pieces: Buffer[]): string => Buffer.concat(pieces).toString("utf8");
