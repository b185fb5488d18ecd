import { describe, expect, it } from "vitest";
import hermes from "../../../../src/agents/hermes/chat/upstream-dialect.js";
import { Refusal } from "../../../../src/gateway/request/refusal.js";
import { sessionIdsIn } from "../../../../src/gateway/request/session-ids.js";

describe("the ids that a request names", () => {
  const cases: [about: string, headers: Record<string, string>, body: Record<string, unknown>, ids: object][] = [
    ["none", { "content-type": "application/json" }, { model: "ada" }, {}],
    ["a session", { "x-hermes-session-id": "s1" }, {}, { session: "s1" }],
    ["a session key", { "x-hermes-session-key": "k1" }, {}, { sessionKey: "k1" }],
    ["an idempotency key", { "idempotency-key": "i1" }, {}, { idempotencyKey: "i1" }],
    ["an earlier response", {}, { previous_response_id: "resp_1" }, { previousResponse: "resp_1" }],
    ["a conversation", {}, { conversation: "c1" }, { conversation: "c1" }],
    ["empty texts", { "x-hermes-session-id": "" }, { conversation: "", previous_response_id: null }, {}],
    ["a member of every object", {}, Object.create({ conversation: "inherited" }), {}],
  ];
  it.each(cases)("%s", (_about, headers, body, ids) =>
    expect(sessionIdsIn(headers, body, hermes.sessionHeaders)).toEqual(ids),
  );

  it.each([5, true, {}, { id: "c1" }, ["c1"]])("%j is no name of a conversation", (conversation) => {
    expect(() => sessionIdsIn({}, { conversation }, {})).toThrow(Refusal);
  });
});
