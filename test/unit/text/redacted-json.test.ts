import { describe, expect, it } from "vitest";
import chat from "../../../src/agents/hermes/chat/chat-dialect.js";
import type { ResolvedAgent } from "../../../src/agents/plan/resolved-agent.js";
import { judgeChat } from "../../../src/agents/probe/proof/judge.js";
import { Secret } from "../../../src/secret.js";
import { redactedBody, redactedValue } from "../../../src/text/redacted-json.js";
import { createRedactor } from "../../../src/ui/redact.js";

const redacting = (...secrets: string[]) => {
  const redactor = createRedactor();
  for (const secret of secrets) redactor.hide(new Secret(secret));
  return redactor.text;
};

const agent = {
  manifest: { api: { chat: { failures: ["Error code:"], failures_without_usage: [] } } },
  word: "ada",
} as unknown as ResolvedAgent;
const completion = JSON.stringify({
  id: "chatcmpl-1",
  object: "chat.completion",
  choices: [{ index: 0, message: { role: "assistant", content: "pong" }, finish_reason: "stop" }],
  usage: { prompt_tokens: 12, completion_tokens: 1 },
});

describe("a secret that equals a key or value of the format", () => {
  it.each(["message", "{", "}", '"', ":", "content", "choices", "stop", "assistant", "12", "true", "pong"])(
    "%s leaves a healthy answer healthy",
    (secret) => {
      const body = redactedBody(completion, redacting(secret));
      expect(judgeChat(agent, chat, { status: 200, headers: {}, body })).toMatchObject({ result: "ok" });
    },
  );

  it.each(["error", "message", "{", "failed"])("%s leaves a failure one", (secret) => {
    const failed = JSON.stringify({
      choices: [{ message: { content: "" }, finish_reason: "error" }],
      error: { message: "no" },
    });
    const body = redactedBody(failed, redacting(secret));
    expect(judgeChat(agent, chat, { status: 200, headers: {}, body })).toMatchObject({ result: "fail" });
  });
});

describe("secrets are taken out", () => {
  const redact = redacting("sk-secret", "12345678");
  it.each<[string, unknown, unknown]>([
    ["of texts", { error: { message: "key sk-secret is wrong" } }, { error: { message: "key [secret] is wrong" } }],
    ["of lists", ["sk-secret", ["sk-secret"]], ["[secret]", ["[secret]"]]],
    ["of members' names that are not our own", { "sk-secret": 1 }, { "[secret]": 1 }],
    ["of long numbers", { account: 12345678, tokens: 1234 }, { account: "[secret]", tokens: 1234 }],
    ["also where a program compares", { type: "sk-secret" }, { type: "[secret]" }],
    ["and nothing else is changed", { a: null, b: true, c: 1.5, d: "x" }, { a: null, b: true, c: 1.5, d: "x" }],
  ])("%s", (_, value, expected) => {
    expect(redactedValue(value, redact)).toEqual(expected);
    expect(JSON.parse(redactedBody(JSON.stringify(value), redact))).toEqual(expected);
  });

  it("of text that is no JSON, or only looks like it", () => {
    expect(redactedBody("not sk-secret", redact)).toBe("not [secret]");
    expect(redactedBody('{"a": "sk-secret"', redact)).toBe('{"a": "[secret]"');
    expect(redactedBody('"sk-secret"', redact)).toBe('"[secret]"');
  });

  it("written with escapes", () => {
    expect(redactedBody('{"a": "sk\\u002dsecret"}', redact)).toBe('{"a":"[secret]"}');
  });

  it("of JSON nested too deeply", () => {
    const deep = `${"[".repeat(200_000)}"sk-secret"${"]".repeat(200_000)}`;
    expect(redactedBody(deep, redact)).not.toContain("sk-secret");
  });
});
