import { type Readable, Transform } from "node:stream";

/** A stream without the line that proves a beginning, and what was said before it. */
export interface Beginning {
  rest: Readable;
  /** The line has come. */
  begun(): boolean;
  before(): string;
}

const enough = 64 * 1024;

/** What is said before the line is not passed on: it is not the command's. */
export function afterLine(stream: Readable, line: string): Beginning {
  const wanted = Buffer.from(`${line}\n`);
  let head: Buffer = Buffer.alloc(0);
  let begun = false;
  const rest = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      if (begun) return done(null, chunk);
      head = Buffer.concat([head, chunk]).subarray(-enough);
      const at = head.indexOf(wanted);
      if (at < 0) return done();
      begun = true;
      const after = head.subarray(at + wanted.length);
      head = head.subarray(0, at);
      done(null, after);
    },
  });
  stream.pipe(rest);
  return { rest, begun: () => begun, before: () => head.toString("utf8").trim() };
}
