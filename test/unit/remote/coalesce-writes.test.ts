import { Writable } from "node:stream";
import { expect, it } from "vitest";
import { coalesceWrites } from "../../../src/remote/coalesce-writes.js";

function gathered() {
  const pieces: string[] = [];
  const stream = new Writable({
    decodeStrings: false,
    write(chunk, _encoding, done) {
      pieces.push(chunk);
      done();
    },
    writev(chunks, done) {
      pieces.push(chunks.map(({ chunk }) => chunk).join(""));
      done();
    },
  });
  coalesceWrites(stream);
  return { stream, pieces };
}

it("writes of one turn of the event loop go out as one, in order", async () => {
  const { stream, pieces } = gathered();
  for (const text of ["a", "b", "c"]) stream.write(text);
  await new Promise(setImmediate);
  stream.write("d");
  await new Promise(setImmediate);
  expect(pieces).toEqual(["abc", "d"]);
});

it("a write right before the end is not lost", async () => {
  const { stream, pieces } = gathered();
  stream.write("last");
  await new Promise<void>((done) => stream.end(done));
  expect(pieces.join("")).toBe("last");
});

it("a writer gets its callback, and the backpressure signal", async () => {
  const { stream } = gathered();
  const heard = new Promise((done) => stream.write("x", done));
  expect(stream.write("y".repeat(stream.writableHighWaterMark))).toBe(false);
  await heard;
});
