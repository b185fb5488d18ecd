import type { GatewayKey } from "../../../../src/gateway/keys/key.js";

/** A key that opens everything without limits, with what a test is about. */
export const sampleKey = (more: Partial<GatewayKey> = {}): GatewayKey => ({
  id: "abcd1234",
  name: "codex",
  hash: "00".repeat(32),
  agents: ["*"],
  role: "chat",
  created_at: "2026-01-01T00:00:00.000Z",
  signed: false,
  ...more,
});
