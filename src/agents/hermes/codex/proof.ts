import type { Check } from "../../check.js";
import type { ResolvedAgent } from "../../plan/resolved-agent.js";
import type { RuntimeRecord } from "../../plan/runtime.js";
import { titleOfPlugin } from "./block.js";
import type { Migrated } from "./migration.js";
import { reachOf, sandboxOf } from "./permissions.js";
import { judgeCodexLogin, pluginsIn } from "./preflight.js";
import { type CodexReport, faultIn, refusalIn } from "./report.js";

export interface Expected {
  resolved: ResolvedAgent;
  runtime: RuntimeRecord;
  migrated: Pick<Migrated, "servers" | "permissions" | "logins">;
}

/** Whether Codex accepted its files: the profile and sandbox, every MCP server with its tools, every plugin. */
export function judgeCodex(report: CodexReport, expected: Expected): Check[] {
  const refused = report.server_fault ?? refusalIn(report);
  if (refused !== undefined || !report.settings || !report.thread) {
    return [{ id: "config", result: "fail", reason: `Codex refuses it: ${refused ?? "it says nothing"}` }];
  }
  return [
    { id: "config", result: "ok", reason: `${report.home}/config.toml is read` },
    ...(report.warnings ?? []).map(({ summary, details }): Check => {
      return { id: "config", result: "warn", reason: [summary, details].filter(Boolean).join(": ") };
    }),
    // The preflight reported a login, unless it could not read the settings.
    ...[judgeCodexLogin({ resolved: expected.resolved, report })].filter(({ result }) => result === "fail"),
    judgePermissions(report, expected),
    ...judgeServers(report, expected),
    ...judgePlugins(report, expected),
  ];
}

function judgePermissions({ thread, home, cwd }: CodexReport, { runtime, migrated }: Expected): Check {
  const id = "permissions";
  const { profile, sandbox } = thread && "profile" in thread ? thread : {};
  const wished = migrated.permissions ?? runtime.permissions;
  const seen = `${profile ?? "no profile"}, sandbox ${sandbox ?? "none"}`;
  const reach = reachOf(wished);
  const right = profile === wished && (reach === "unknown" || sandbox === sandboxOf[reach]);
  if (right) return { id, result: "ok", reason: seen };
  const nearby = `${cwd.path}/.codex`;
  const other = home === nearby ? "" : ` (Codex also goes by ${nearby}/config.toml, as it works there)`;
  return { id, result: "fail", reason: `${seen}; it should be ${wished}${other}` };
}

function judgeServers({ servers }: CodexReport, { resolved: agent, migrated }: Expected): Check[] {
  const trouble = faultIn(servers);
  if (trouble !== undefined) return [{ id: "mcp", result: "fail", reason: trouble }];
  const seen = Array.isArray(servers) ? servers : [];
  const missing = migrated.servers.filter((name) => !seen.some((each) => each.name === name));
  return [
    ...missing.map((name): Check => ({ id: `mcp.${name}`, result: "fail", reason: "Codex does not know it" })),
    ...seen.map(({ name, enabled, status, error, tools }): Check => {
      const id = `mcp.${name}`;
      if (!enabled) return { id, result: "skipped", reason: "it is switched off" };
      if (status === "ready" && tools.length > 0) return { id, result: "ok", reason: toolsText(tools) };
      // A server may have only resources.
      if (status === "ready") return { id, result: "warn", reason: "it is ready, and has no tools" };
      const how = status === "silent" ? "it did not get ready in time" : status;
      const reason = error ? `${how}: ${error}` : how;
      if (migrated.logins.includes(name)) {
        const fix = `clm agent exec ${agent.ref} -- codex mcp login ${name}`;
        return { id, result: "warn", reason: `${reason}; it may want a login`, fix };
      }
      // A server of the user's own failed before, too.
      return { id, result: migrated.servers.includes(name) ? "fail" : "warn", reason };
    }),
  ];
}

const toolsText = (tools: string[]): string =>
  `${tools.length} ${tools.length === 1 ? "tool" : "tools"}: ${tools.slice(0, 4).join(", ")}${tools.length > 4 ? ", …" : ""}`;

function judgePlugins(report: CodexReport, { runtime }: Expected): Check[] {
  const on = new Set(pluginsIn(report).flatMap((each) => (each.enabled ? titleOfPlugin(each) : [])));
  return runtime.plugins
    .filter(({ enabled }) => enabled)
    .map(titleOfPlugin)
    .map((title): Check => {
      const id = `plugin.${title}`;
      if (on.has(title)) return { id, result: "ok", reason: "installed and enabled" };
      return { id, result: "fail", reason: "Codex does not say that it is enabled" };
    });
}
