import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { redacting } from "../../src/agents/handoff/redact.js";
import { linesOf } from "../../src/agents/handoff/withhold-outputs.js";
import { shownDiff } from "../../src/agents/plan/shown-diff.js";
import { mustHoldNoSecret } from "../../src/flows/agent/configure/own-server.js";
import { hasSecret, hasToken, mayHoldSecret, redactSecrets } from "../../src/secret-shapes.js";
import { isSpeakable } from "../../src/state/agents.js";

interface Case {
  it: string;
  text: string;
  redacted: string;
  setting: boolean;
  token: boolean;
  twin: string;
}

const cases = (parse(readFileSync("test/cases/secret-shapes.yaml", "utf8")) as Case[]).map((each) => ({
  ...each,
  text: each.text.replace("{{}}", ""),
}));

describe("a secret", () => {
  it.each(cases)("$it", ({ text, redacted, setting, token }) => {
    expect(redactSecrets(text)).toBe(redacted);
    expect(redactSecrets(redacted)).toBe(redacted);
    expect(hasSecret(text)).toBe(setting);
    expect(hasToken(text)).toBe(token);
    expect(mayHoldSecret(text)).toBe(true);
  });

  it.each(cases)("$it: its harmless twin stays", ({ twin }) => {
    expect(redactSecrets(twin)).toBe(twin);
    expect(hasSecret(twin)).toBe(false);
    expect(hasToken(twin)).toBe(false);
  });

  // A pattern that takes quadratic time would take minutes for this.
  it.each([" ", "Bearer ", "a-", "sk-", "x://", "x://a:", "x://a@", "-----BEGIN PRIVATE KEY", "password", "eyJ"])(
    "a megabyte of %j is searched in linear time",
    (part) => {
      expect(redactSecrets(part.repeat(1_000_000 / part.length))).not.toBe("");
    },
  );
});

describe("every place knows every token", () => {
  it.each(cases.filter(({ token }) => token))("$it", ({ text, redacted }) => {
    const [before = "", after = ""] = redacted.split("[secret]");
    const token = text.slice(before.length, text.length - after.length);
    expect(redacting((same) => same)(text)).toBe(redacted);
    expect(redacting((same) => same)(JSON.stringify({ output: text }))).toBe(JSON.stringify({ output: redacted }));
    expect(() => mustHoldNoSecret({ args: [text] }, "mcp.x", "answers.yaml")).toThrow("mcp.x.args.0");
    const [line = ""] = token.split("\n");
    const diff = shownDiff("", `${before}${line}\n`, { salt: "0123456789abcdef", secrets: [] });
    expect(diff.join("\n")).not.toContain(line);
    if (/^\w+-/.test(token)) expect(isSpeakable(token)).toBe(false);
  });

  it("also in a tool's output", () => {
    expect(linesOf("it is xapp-abcdefgh.")).toContain("xapp-abcdefgh");
    expect(linesOf("it is something.")).not.toContain("something");
  });
});
