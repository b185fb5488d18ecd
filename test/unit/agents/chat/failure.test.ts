import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { failureIn } from "../../../../src/agents/chat/completion.js";
import { mayBeFailure } from "../../../../src/agents/chat/failure.js";
import { failureInResponse } from "../../../../src/agents/chat/response.js";
import { manifestFailures as forms } from "./forms.js";

interface Case {
  text: string;
  used?: number;
  cause?: string;
  status?: number;
}

const cases: Case[] = parse(readFileSync("test/cases/chat/failures.yaml", "utf8"));
const named = cases.map((each) => [`${JSON.stringify(each.text)}, ${each.used ?? "unknown"} tokens`, each] as const);

describe("a text in place of an answer", () => {
  it.each(named)("%s", (_name, { text, used, cause, status }) => {
    const expected =
      cause === undefined ? undefined : { cause, asAnswer: true, ...(status !== undefined && { status }) };
    const chat = { prompt_tokens: used, completion_tokens: used === undefined ? used : 0 };
    const found = failureIn({ text, finish: "stop", headers: {}, said: {}, usage: chat, signs: forms });
    expect(found && { ...found, text: undefined }).toEqual(expected && { ...expected, text: undefined });

    const output = [{ type: "message", content: [{ type: "output_text", text }] }];
    const usage = { input_tokens: used, output_tokens: used === undefined ? used : 0 };
    expect(failureInResponse({ status: "completed", output, usage }, {}, forms)?.cause).toBe(cause);
  });

  it.each(named.filter(([, { cause }]) => cause))("%s is held back from its first letter on", (_name, { text }) => {
    for (let end = 1; end <= text.length; end++) expect(mayBeFailure(text.slice(0, end), forms)).toBe(true);
  });

  it("is an answer when no failure is as long", () => {
    expect(mayBeFailure(`HTTP 404: ${"x".repeat(20_000)}`, forms)).toBe(false);
  });
});

describe("a response", () => {
  const output = [{ type: "message", content: [{ type: "output_text", text: "fine" }] }];
  const usage = { input_tokens: 5, output_tokens: 5 };
  it.each([
    ["that completed", { status: "completed", output, usage, error: null }, undefined],
    ["that was cut", { status: "incomplete", output, usage }, undefined],
    ["that failed", { status: "failed", output: [], usage, error: { message: "HTTP 401: no" } }, "key-refused"],
    ["that failed without a word", { status: "failed", output: [] }, "unknown"],
    ["without text", { status: "completed", output: [{ type: "function_call" }], usage }, "empty"],
  ])("%s", (_name, response, cause) => {
    expect(failureInResponse(response, {}, forms)?.cause).toBe(cause);
  });
});
