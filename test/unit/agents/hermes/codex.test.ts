import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import type { Check } from "../../../../src/agents/check.js";
import { profileFor, reachOf } from "../../../../src/agents/hermes/codex/permissions.js";
import { judgePreflight, pluginsIn } from "../../../../src/agents/hermes/codex/preflight.js";
import { judgeCodex } from "../../../../src/agents/hermes/codex/proof.js";
import { type CodexReport, parseReport, probeCommand } from "../../../../src/agents/hermes/codex/report.js";
import { loadType } from "../../../../src/agents/manifest/registry.js";
import { resolvedAgent } from "../../../../src/agents/plan/resolved-agent.js";
import { type RuntimeRecord, runtimeTypeOf } from "../../../../src/agents/plan/runtime.js";
import { agentNameFrom } from "../../../../src/names.js";
import { sampleAgent } from "../../state/sample-agent.js";

const { manifest } = await loadType("/nonexistent", "hermes");
const agent = resolvedAgent(manifest, {
  name: agentNameFrom("ada"),
  ref: "ada",
  host: { name: "wolf-i" } as never,
  record: sampleAgent("ada", { version: "2026.7.1" }),
});
const type = runtimeTypeOf(agent, "codex");

const read = <T>(name: string): T[] => parse(readFileSync(`test/cases/codex/${name}.yaml`, "utf8"));
const demo = { name: "demo", marketplace: "local", installed: true, enabled: true, availability: "AVAILABLE" };

/** A Codex that has all it needs. */
const healthy: CodexReport = {
  home: "/home/ada/.codex",
  cwd: { path: "/home/ada", exists: true, readable: true, writable: true },
  config: true,
  hermes: true,
  program: "/home/ada/.local/bin/codex",
  version: "0.166.0",
  account: { kind: "chatgpt", needed: true },
  settings: { model_provider: null },
  plugins: { listed: [demo], errors: [] },
  profiles: [":read-only", ":workspace", ":danger-full-access"],
  thread: { profile: ":workspace", sandbox: "workspaceWrite" },
  servers: [{ name: "files", enabled: true, status: "ready", tools: ["read", "write"] }],
  sandbox_trial: { works: true, why: "" },
  warnings: [],
};

interface CodexCase {
  case: string;
  seen?: Partial<CodexReport>;
  without?: (keyof CodexReport)[];
  checks: Record<string, string>;
}

/** Read as a host's answer is: a case with a field that the program on the host does not send fails. */
function reportOf({ seen = {}, without = [] }: CodexCase): CodexReport {
  const all = Object.entries({ ...healthy, ...seen }).filter(([key]) => !without.some((each) => each === key));
  const report = parseReport(`CLM-CODEX ${JSON.stringify(Object.fromEntries(all))}`);
  if (!report) throw new Error("the case is not an answer that a host could give");
  return report;
}

/** What is not simply well, by id. */
function amiss(checks: Check[]): Record<string, string> {
  const said: Record<string, string> = {};
  for (const { id, result, reason } of checks.filter((each) => each.result !== "ok"))
    said[id] = [said[id] ?? [], `${result}: ${reason}`].flat().join("; ");
  return said;
}

describe("before anything is changed", () => {
  type Before = CodexCase & { provider?: string; permissions?: string; hasBlock?: boolean };
  it.each(read<Before>("preflight"))("$case", ({ provider, permissions, hasBlock, ...given }) => {
    const checks = judgePreflight({
      resolved: agent,
      type,
      report: reportOf(given),
      hasBlock: hasBlock ?? false,
      provider: provider ?? "openai-codex",
      permissions: permissions ?? "workspace",
    });
    expect(amiss(checks)).toEqual(given.checks);
    for (const { result, fix } of checks) if (fix) expect(result).not.toBe("ok");
  });

  it("takes the plugins that are installed and may be used", () => {
    const listed = [
      demo,
      { ...demo, name: "off", enabled: false },
      { ...demo, name: "plain", availability: null },
      { ...demo, name: "elsewhere", installed: false },
      { ...demo, name: "blocked", availability: "DISABLED_BY_ADMIN" },
    ];
    expect(pluginsIn({ plugins: { listed, errors: [] } })).toEqual([
      { name: "demo", marketplace: "local", enabled: true },
      { name: "off", marketplace: "local", enabled: false },
      { name: "plain", marketplace: "local", enabled: true },
    ]);
  });
});

describe("what Codex makes of its files", () => {
  type After = CodexCase & { permissions?: string; logins?: string[] };
  it.each(read<After>("proof"))("$case", ({ permissions = ":workspace", logins = [], ...given }) => {
    const plugins = [{ name: "demo", marketplace: "local", enabled: true }];
    const runtime: RuntimeRecord = { kind: "codex", home: "/home/ada/.codex", permissions, mirror: false, plugins };
    const checks = judgeCodex(reportOf(given), {
      resolved: agent,
      runtime,
      merged: { servers: ["files"], permissions, logins },
    });
    expect(amiss(checks)).toEqual(given.checks);
  });
});

describe("a permission profile", () => {
  it.each([
    ["read-only", "0.166.0", null, ":read-only"],
    ["workspace", "0.130.0", undefined, ":workspace"],
    [":workspace", "0.166.0", [":workspace"], ":workspace"],
    ["full-access", "0.130.0", undefined, ":danger-no-sandbox"],
    ["full-access", "0.166.0", undefined, ":danger-full-access"],
    [":danger-no-sandbox", "0.166.0", undefined, ":danger-full-access"],
    [":danger-full-access", "0.130.0", undefined, ":danger-no-sandbox"],
    ["full-access", "0.140.0", [":workspace", ":danger-no-sandbox"], ":danger-no-sandbox"],
    ["mine", "0.166.0", [":workspace"], "mine"],
  ])("%s at %s, where there are %s, is %s", (word, version, known, name) => {
    expect(profileFor(word, version, known)).toBe(name);
  });

  it.each([":workspace-write", ":none"])("%s is invalid", (word) => {
    expect(() => profileFor(word, "0.166.0", undefined)).toThrow("has no permission profile");
  });

  it.each([
    ["read-only", "read"],
    [":workspace", "write"],
    ["full-access", "everything"],
    [":danger-no-sandbox", "everything"],
    ["mine", "unknown"],
  ])("%s reaches: %s", (word, reach) => {
    expect(reachOf(word)).toBe(reach);
  });
});

describe("the host's answer", () => {
  it("is sent by the program on the host, with the result of the sandbox trial", () => {
    const home = mkdtempSync(join(tmpdir(), "clm-codex-"));
    try {
      const program = join(home, "codex");
      writeFileSync(program, '#!/bin/sh\ncase "$1" in --version) echo codex-cli 0.166.0;; esac\n', { mode: 0o755 });
      const asked = { thread: false, ephemeral: false, sandbox: "read" } as const;
      const resolved = { ...agent, paths: { ...agent.paths, home } };
      const { words, input } = probeCommand(resolved, { ...type, program }, asked);
      const { stdout } = spawnSync("python3", words.slice(1), { input, encoding: "utf8" });
      expect(parseReport(stdout)).toMatchObject({ version: "0.166.0", sandbox_trial: { works: true, why: "" } });
    } finally {
      rmSync(home, { recursive: true });
    }
  });

  const line = `CLM-CODEX ${JSON.stringify(healthy)}`;

  it.each([
    ["alone", line],
    ["with words of others around it", `a plugin says hello\n\n${line}\nbye\n`],
  ])("is read %s", (_, text) => {
    expect(parseReport(text)).toEqual(healthy);
  });

  it.each([
    ["nothing", ""],
    ["half of it", line.slice(0, 200)],
    ["another thing", "CLM-CODEX {}"],
  ])("is undefined when it is %s", (_, text) => {
    expect(parseReport(text)).toBeUndefined();
  });
});
