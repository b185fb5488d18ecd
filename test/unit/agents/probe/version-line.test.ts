import { expect, test } from "vitest";
import type { ResolvedAgent } from "../../../../src/agents/plan/resolved-agent.js";
import { saysVersion } from "../../../../src/agents/probe/version-line.js";

const agent = (reports: string, version: string) =>
  ({
    manifest: { version: { line: "Hermes Agent v{{reports}} ({{version}})" } },
    release: { reports },
    version,
  }) as unknown as ResolvedAgent;

test.each([
  ["0.13.0", "2026.5.7", "Hermes Agent v0.13.0 (2026.5.7)", true],
  ["0.18.0", "2026.7.1+standin", "Hermes Agent v0.18.0 (2026.7.1)", true],
  ["0.13.0", "2026.5.7", "Hermes Agent v0.14.0 (2026.5.16)", false],
  ["0.13.0", "2026.5.7", "Hermes Agent v0.13.0 (2026.5.7) ", false],
  ["0.13.0", "2026.5.7", "", false],
  ["0.15.x", "2026.5.29", "Hermes Agent v0.15.1 (2026.5.29)", true],
  ["0.15.x", "2026.5.29", "Hermes Agent v0.15.12 (2026.5.29)", true],
  ["0.15.x", "2026.5.29", "Hermes Agent v0.15. (2026.5.29)", false],
  ["0.15.x", "2026.5.29", "Hermes Agent v0.16.0 (2026.5.29)", false],
  ["0.15.x", "2026.5.29", "Hermes Agent v0.15.1 (2026.6.5)", false],
])("a release that reports %s at %s, saying '%s': %s", (reports, version, said, right) => {
  expect(saysVersion(agent(reports, version), said)).toBe(right);
});
