import { createHash } from "node:crypto";
import { describe, expect, it } from "vitest";
import { type Change, EntryDifference, fileId, HostDifference } from "../../../../src/agents/plan/change.js";
import { withDetails } from "../../../../src/agents/plan/change-details.js";
import type { Plan } from "../../../../src/agents/plan/plan.js";
import { Secret } from "../../../../src/secret.js";

const salt = "0011223344556677";
const digest = (line: string) => createHash("sha256").update(`${salt}${line}\n`).digest("hex");
const redact = (text: string) => text.replaceAll("known-secret", "[secret]");
const showing = { redact, secrets: [] };

const file = (id: string, merge: string) => ({ id, path: `/a/${id}`, mode: 0o600, restarts: true, content: { merge } });

const plan = (more: object = {}, yaml: { before?: string; text?: string } = {}) =>
  ({
    agent: { unit: "ada.service" },
    files: [
      { file: file("env", "variables"), text: new Secret("ONE=1\nTWO=2\n"), notes: [] },
      { file: file("config", "yaml"), before: "", text: "", notes: [], ...yaml },
    ],
    salt,
    service: "[Service]\nUser=ada\nEnvironment=HOME=/a\n",
    observation: { service: "", variables: new Map([["ONE", digest("ONE=x")]]) },
    ...more,
  }) as unknown as Plan;

function changed(what: string, differences: string[], id?: string): Change {
  const parsed = differences.map((text) => {
    const [, sign, name = ""] = /^([+~-]) (.*)$/.exec(text) ?? [];
    return sign ? new EntryDifference(sign as "+", name) : new HostDifference(text);
  });
  return { what, differences: parsed, ...(id && { [fileId]: id }) };
}

describe("the details of a change", () => {
  it("have a fingerprint of a variable, useless without the salt", () => {
    const change = changed("file /a/.env", ["mode 0644 -> 0600", "~ ONE", "+ TWO", "- ONE"], "env");
    expect(withDetails(change, plan(), showing).details).toEqual([
      "mode 0644 -> 0600",
      `~ ONE (${digest("ONE=x").slice(0, 6)}… -> ${digest("ONE=1").slice(0, 6)}…)`,
      `+ TWO (${digest("TWO=2").slice(0, 6)}…)`,
      `- ONE (${digest("ONE=x").slice(0, 6)}…)`,
    ]);
    expect(withDetails(change, plan({ salt: "" }), showing)).toBe(change);
  });

  it.each([
    ["model.default", "llama3", "gpt-4", '("llama3" -> "gpt-4")'],
    ["model.max_turns", "9", "10", "(9 -> 10)"],
    ["model.api_key", "abc", "none", undefined],
    ["mcp_servers.jira.env.JIRA_TOKEN", "abc", "none", undefined],
    ["mcp_servers.jira.headers.x", "abc", "none", undefined],
    ["model.default", "known-secret", "gpt-4", undefined],
    ["model.base_url", "http://user:pass@host/v1", "http://host/v1", undefined],
    ["model.base_url", "http://host/v1?apikey=1", "http://host/v1", undefined],
    ["model.default", "sk-proj-9a8b7c6d5e4f3a2b1c", "gpt-4", undefined],
  ])("is the value of %s when that may be seen: %s -> %s", (path, before, after, expected) => {
    const yaml = (value: string) => path.split(".").reduceRight((below, name) => `{${name}: ${below}}`, value);
    const quoted = (value: string) => (/^\d+$/.test(value) ? value : JSON.stringify(value));
    const change = changed("file /a/config.yaml", [`~ ${path}`], "config");
    const texts = { before: yaml(quoted(before)), text: yaml(quoted(after)) };
    const { details } = withDetails(change, plan({}, texts), showing);
    expect(details).toEqual([expected ? `~ ${path} ${expected}` : `~ ${path}`]);
  });

  it.each([
    ["Environment=A=short", "-Environment=…"],
    ["ExecStart=/bin/x --token hunter2 -v", "-ExecStart=/bin/x --token … -v"],
    ["ExecStart=/bin/x --api-key=hunter2", "-ExecStart=/bin/x --api-key=…"],
    ["ExecStart=/bin/x a1b2c3d4e5f6a7b8c9d0e1", "-ExecStart=/bin/x …"],
    ["ExecStart=/bin/x known-secret", "-ExecStart=/bin/x [secret]"],
    ["Nice=5\x1b[31m", "-Nice=5 [31m"],
  ])("have a line of the unit without secrets: %j", (line, expected) => {
    const service = `[Service]\nUser=ada\n${line}\nEnvironment=HOME=/a\n`;
    const change = changed("unit ada.service", ["content", "not reloaded"]);
    const { details } = withDetails(change, plan({ observation: { service } }), showing);
    expect(details).toEqual(["not reloaded", " [Service]", " User=ada", expected, " Environment=HOME=/a"]);
  });
});
