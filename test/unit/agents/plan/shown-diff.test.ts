import { describe, expect, it } from "vitest";
import { shownDiff } from "../../../../src/agents/plan/shown-diff.js";
import { Secret } from "../../../../src/secret.js";

const known = "hunter2-of-the-fleet";
const showing = { salt: "0123456789abcdef", secrets: [new Secret(known)] };
const shown = (line: string): string => shownDiff("", `${line}\n`, showing).join("\n");

describe("a line without secrets", () => {
  it.each([
    'default_permissions = ":workspace"',
    'env_vars = ["GITHUB_TOKEN", "API_KEY"]',
    'bearer_token_env_var = "GITHUB_TOKEN"',
    'env_http_headers = { "X-Key" = "MY_KEY" }',
    `  api_key: \${OPENAI_API_KEY}`,
    "max_tokens: 4096",
    "# end hermes-agent managed section",
    'args = ["-m", "agent.transports.hermes_tools_mcp_server"]',
    "tool_timeout_sec = 600.0",
    'env = { HERMES_HOME = "/home/ada/.hermes", HERMES_QUIET = "1", HERMES_REDACT_SECRETS = "true" }',
    "  provider: openai-codex",
    "[mcp_servers.auth-server]",
    'url = "https://example.com/mcp"',
  ])("%s", (line) => {
    expect(shown(line)).toBe(`+${line}`);
  });
});

describe("a line with a secret", () => {
  it.each([
    `password = "${known}"`,
    `args = ["--header", "${known}"]`,
    'env = { TOKEN = "correct horse battery" }',
    "  api_key: correct-horse",
    "api_key = 'correct horse'",
    'url = "https://x.example/?k=AKIAIOSFODNN7EXAMPLE1"',
    'api_keys = ["correct horse", "battery"]',
    'env = { DB_PASS = "horse" }',
    'env = { ANYTHING = "horse" }',
    'http_headers = { X-Anything = "horse" }',
    'args = ["postgres://u:horse@h/db"]',
    'args = ["postgres://u:correct/horse@h/db"]',
    'args = ["--token", "horse"]',
    "  Authorization: Bearer horse",
    "  password: correct horse",
    'x = { a_token = "correct horse", env_vars = ["A"] }',
    "- ghp_16C7e42F292c6912E7710c838347Ae178B4a",
  ])("%s has a fingerprint in its place", (line) => {
    const text = shown(line);
    expect(text).toMatch(/…[0-9a-f]{6}/);
    for (const secret of [known, "horse", "AKIA", "ghp_"]) expect(text).not.toContain(secret);
  });

  it("has one for all of it, whatever else looks odd in it", () => {
    const secret = "q83vEjRWeJq83vEjRWeJ/abcDEF+xyz12==";
    const text = shownDiff("", `header = "${secret}"\n`, { ...showing, secrets: [new Secret(secret)] }).join("");
    expect(text).toMatch(/^\+header = "…[0-9a-f]{6}"$/);
  });

  it("has the same one in the same run, and another in the next", () => {
    const line = `password = "${known}"\n`;
    const [first, second] = [shownDiff("", line, showing), shownDiff("", line, showing)];
    expect(first).toEqual(second);
    expect(shownDiff("", line, { ...showing, salt: "fedcba9876543210" })).not.toEqual(first);
  });

  it("is not shown as a neighbour of a change either", () => {
    const before = `password = "${known}"\nmodel = "a"\n`;
    expect(shownDiff(before, before.replace('"a"', '"b"'), showing).join("\n")).not.toContain(known);
  });
});
