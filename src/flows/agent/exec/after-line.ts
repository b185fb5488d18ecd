import { type Readable, Transform } from "node:stream";

const enough = 64 * 1024;

/** Passes on everything after `line`; output before it comes from sudo or systemd-run. */
export function afterLine(stream: Readable, line: string) {
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
