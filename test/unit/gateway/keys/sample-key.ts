import type { GatewayKey } from "../../../../src/gateway/request/gateway-key.js";

/** A key for everything without limits, with the changes that a test needs. */
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
