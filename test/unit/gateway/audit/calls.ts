import type { CallOutcome, GatewayCall } from "../../../../src/gateway/request/gateway-call.js";
import type { GatewayKey } from "../../../../src/gateway/request/gateway-key.js";

export const key: GatewayKey = {
  id: "abcd1234",
  name: "codex",
  hash: "0".repeat(64),
  agents: ["*"],
  role: "chat",
  created_at: "2026-01-01T00:00:00.000Z",
  signed: false,
};

export const call = (n: number, more: Partial<GatewayCall> = {}): GatewayCall => ({
  id: `req-${n}`,
  at: Date.UTC(2026, 0, 1, 10, 0, n),
  method: "POST",
  path: "/v1/chat/completions",
  from: "127.0.0.1",
  key,
  target: "wolf-i/ada",
  model: "ada",
  ...more,
});

export const ending = (more: Partial<CallOutcome> = {}): CallOutcome => ({
  status: 200,
  tokens: { input: 12, output: 30 },
  usd: 0.002,
  first: 8.25,
  took: 41.5,
  ...more,
});
