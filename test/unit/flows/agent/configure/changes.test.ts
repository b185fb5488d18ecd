import { describe, expect, it } from "vitest";
import { loadType } from "../../../../../src/agents/manifest/registry.js";
import { resolvedAgent } from "../../../../../src/agents/plan/resolved-agent.js";
import { draftOf, noAnswers, noChanges, type PartAnswers } from "../../../../../src/flows/agent/configure/changes.js";
import { agentNameFrom } from "../../../../../src/names.js";
import { sampleAgent, sampleHost } from "../../../state/sample-agent.js";

const { manifest } = await loadType("/nowhere", "hermes");
const record = { ...sampleAgent("wolf"), mcp: { mine: { server: { command: "x" } } } };
const host = sampleHost("den");
const agent = resolvedAgent(manifest, { name: agentNameFrom("wolf"), ref: "wolf", host, record });
const draft = (mine: Partial<PartAnswers>) =>
  draftOf(agent, { providers: {} }, record, { ...noChanges(), mcp: { mine: { ...noAnswers(), ...mine } } });

describe("a custom MCP server", () => {
  it.each<[string, Partial<PartAnswers>]>([
    ["an answer", { fields: { token: "1" } }],
    ["a secret", { secrets: { token: { kind: "env", name: "T" } } }],
  ])("has no fields: %s is refused", (_, answers) => {
    expect(() => draft(answers)).toThrow("mine has no field called 'token'");
  });

  it("stays when it is named without an answer", () => {
    expect(draft({}).record.mcp).toEqual(record.mcp);
  });

  it("is replaced by another one", () => {
    expect(draft({ server: { command: "y" } }).record.mcp).toEqual({ mine: { server: { command: "y" } } });
  });
});
