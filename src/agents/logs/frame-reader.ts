export interface LogLine {
  /** The number of the agent in the script. */
  agent: number;
  source: string;
  line: string;
  /** Too long: its end is missing. */
  cut: boolean;
}

export interface FrameHandlers {
  /** Bytes of a line that are kept. */
  maxBytes: number;
  line: (line: LogLine) => void;
  /** A message of the script itself, about the host or one of its agents. */
  remark: (words: string[], agent: number | undefined) => void;
}

// The longest line that is not a frame, such as a host's banner.
const maxNoise = 1 << 16;
const plus = 0x2b;

/** Reads the output of logs.sh, in chunks of any size, and joins the pieces of each line. */
export function frameReader({ maxBytes, line, remark }: FrameHandlers): (chunk: Buffer) => void {
  const open = new Map<string, { pieces: Buffer[]; size: number }>();
  let rest: Buffer = Buffer.alloc(0);

  function take(bytes: Buffer): void {
    // Decoded when complete: a piece may end within a character. The head is ASCII.
    const [head, number = "", source = ""] = /^(-|\d+) (\S+) ?/.exec(bytes.toString("latin1", 0, 64)) ?? [];
    if (head === undefined) return;
    if (number === "-") remark(bytes.toString("utf8", 2).split(" "), undefined);
    else if (source === "-") remark(bytes.toString("utf8", head.length).split(" "), Number(number));
    else takePiece(Number(number), source, bytes.subarray(head.length));
  }

  function takePiece(agent: number, source: string, bytes: Buffer): void {
    const key = `${agent} ${source}`;
    const whole = open.get(key) ?? { pieces: [], size: 0 };
    const piece = bytes.subarray(0, -1);
    // Copied, as a part of a chunk would keep the whole chunk in memory.
    if (whole.size < maxBytes) whole.pieces.push(Buffer.from(piece.subarray(0, maxBytes - whole.size)));
    whole.size += piece.length;
    if (bytes.at(-1) === plus) {
      open.set(key, whole);
      return;
    }
    open.delete(key);
    line({ agent, source, line: Buffer.concat(whole.pieces).toString("utf8"), cut: whole.size > maxBytes });
  }

  return (chunk) => {
    rest = Buffer.concat([rest, chunk]);
    let from = 0;
    for (let end = rest.indexOf(10); end >= 0; end = rest.indexOf(10, from)) {
      take(rest.subarray(from, end));
      from = end + 1;
    }
    rest = rest.length - from > maxNoise ? Buffer.alloc(0) : rest.subarray(from);
  };
}
