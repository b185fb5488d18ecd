import { utils } from "ssh2";
import { expect, it } from "vitest";
import { newPrivateKey } from "../../../src/flows/keypair.js";

it("makes keys that can be read and sign, every time", () => {
  // One of 256 that ssh2 makes cannot: this many without one would be a chance of 1 in 2,500.
  for (let made = 0; made < 2000; made++) {
    const key = utils.parseKey(newPrivateKey("clm"));
    if (key instanceof Error) throw key;
    const text = Buffer.from(`${made}`);
    expect(key.verify(text, key.sign(text) as Buffer)).toBe(true);
  }
});
