/** What a signature of version 2 covers, as docs/gateway.md lists it. */
export const covered = ["idempotency-key", "x-hermes-session-id", "x-hermes-session-key"];
