import { expect, test } from "vitest";
import { preferredAlgorithms } from "../../../../src/remote/host-keys/algorithms.js";
import { key, keys } from "./cases.js";

const short = (algorithm: string) => algorithm.replace(/^ssh-|^ecdsa-sha2-|-sha2/, "");

test.each([
  [[], "ed25519 nistp256 nistp384 nistp521 rsa-512 rsa-256"],
  [["ed1"], "ed25519 nistp256 nistp384 nistp521 rsa-512 rsa-256"],
  [["rsa"], "rsa-512 rsa-256 ed25519 nistp256 nistp384 nistp521"],
  [["ecdsa"], "nistp256 ed25519 nistp384 nistp521 rsa-512 rsa-256"],
  [["ecdsa384", "rsa"], "nistp384 rsa-512 rsa-256 ed25519 nistp256 nistp521"],
  [["rsa", "ed1", "ed2"], "ed25519 rsa-512 rsa-256 nistp256 nistp384 nistp521"],
])("known by %j", (names, order) => {
  expect(preferredAlgorithms(names.map(key)).map(short).join(" ")).toBe(order);
});

test("SHA-1 is never offered", () => {
  for (const name of Object.keys(keys)) expect(preferredAlgorithms([key(name)])).not.toContain("ssh-rsa");
});
