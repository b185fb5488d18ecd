import { expect, it } from "vitest";
import { manifestSchema } from "../../../../../src/agents/manifest/manifest.js";

it("manifests may name proofs by the ids they had before", () => {
  const cause = { id: "x", pattern: "x", reason: "x", proofs: ["gate.own", "port"], checks: ["gate.none"] };
  expect(manifestSchema.shape.causes.parse([cause])).toMatchObject([
    { proofs: ["auth.own-key", "port"], checks: ["auth.no-key"] },
  ]);
  expect(() => manifestSchema.shape.causes.parse([{ ...cause, proofs: ["gate.else"] }])).toThrow();
});
