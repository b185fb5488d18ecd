import fc from "fast-check";
import { expect, it } from "vitest";
import { ByteBuffer } from "../../../src/text/byte-buffer.js";

it("gives all pieces back in their order, and changes none of them", () => {
  fc.assert(
    fc.property(fc.array(fc.uint8Array({ maxLength: 50 }), { maxLength: 60 }), (arrays) => {
      const pieces = arrays.map((each) => Buffer.from(each));
      const copies = pieces.map((each) => Buffer.from(each));
      const buffer = new ByteBuffer();
      for (let round = 0; round < 2; round++) {
        for (const piece of pieces) buffer.push(piece);
        expect(buffer.length).toBe(Buffer.concat(copies).length);
        expect(buffer.take()).toEqual(Buffer.concat(copies));
      }
      expect(pieces).toEqual(copies);
    }),
  );
});
