import { type Check, fail, ok, skipped, type Verdict, warn } from "../../check.js";
import type { ResolvedAgent } from "../../plan/resolved-agent.js";
import type { RuntimeRecord } from "../../plan/runtime.js";
import { titleOfPlugin } from "./block.js";
import type { MergedConfigToml } from "./config-toml.js";
import { reachOf, sandboxOf } from "./permissions.js";
import { judgeCodexLogin, pluginsIn } from "./preflight.js";
import { type CodexReport, type McpServer, refusalIn } from "./report.js";

export interface CodexExpectation {
  resolved: ResolvedAgent;
  runtime: RuntimeRecord;
  merged: Pick<MergedConfigToml, "servers" | "permissions" | "logins">;
}

/** Whether Codex accepted its files: the profile and sandbox, every MCP server with its tools, every plugin. */
export function judgeCodex(report: CodexReport, expected: CodexExpectation): Check[] {
  const id = "config";
  const refused = report.server_fault ?? refusalIn(report);
  if (refused !== undefined || !report.settings || !report.thread)
    return [{ id, ...fail(`Codex refuses it: ${refused ?? "it says nothing"}`) }];
  const login = judgeCodexLogin({ resolved: expected.resolved, report });
  return [
    { id, ...ok(`${report.home}/config.toml is read`) },
    ...(report.warnings ?? []).map(({ summary, details }) => {
      return { id, ...warn([summary, details].filter(Boolean).join(": ")) };
    }),
    // The preflight reported a login, unless it could not read the settings.
    ...(login.result === "fail" ? [{ id: "login.codex", ...login }] : []),
    { id: "permissions", ...judgePermissions(report, expected) },
    ...judgeServers(report, expected),
    ...judgePlugins(report, expected),
  ];
}

function judgePermissions({ thread, home, cwd }: CodexReport, { runtime, merged }: CodexExpectation): Verdict {
  const { profile, sandbox } = thread && "profile" in thread ? thread : {};
  const wished = merged.permissions ?? runtime.permissions;
  const seen = `${profile ?? "no profile"}, sandbox ${sandbox ?? "none"}`;
  const reach = reachOf(wished);
  if (profile === wished && (reach === "unknown" || sandbox === sandboxOf[reach])) return ok(seen);
  const nearby = `${cwd.path}/.codex`;
  const other = home === nearby ? "" : ` (Codex also goes by ${nearby}/config.toml, as it works there)`;
  return fail(`${seen}; it should be ${wished}${other}`);
}

function judgeServers({ servers = [] }: CodexReport, expected: CodexExpectation): Check[] {
  if ("fault" in servers) return [{ id: "mcp", ...fail(servers.fault) }];
  const missing = expected.merged.servers.filter((name) => !servers.some((each) => each.name === name));
  return [
    ...missing.map((name) => ({ id: `mcp.${name}`, ...fail("Codex does not know it") })),
    ...servers.map((server) => ({ id: `mcp.${server.name}`, ...judgeServer(server, expected) })),
  ];
}

function judgeServer(
  { name, enabled, status, error, tools }: McpServer,
  { resolved: agent, merged }: CodexExpectation,
): Verdict {
  if (!enabled) return skipped("it is switched off");
  if (status === "ready" && tools.length > 0) return ok(toolsText(tools));
  // A server may have only resources.
  if (status === "ready") return warn("it is ready, and has no tools");
  const how = status === "unknown" ? "it did not get ready in time" : status;
  const reason = error ? `${how}: ${error}` : how;
  if (merged.logins.includes(name))
    return warn(`${reason}; it may want a login`, `clm agent exec ${agent.ref} -- codex mcp login ${name}`);
  // A server of the user's own failed before, too.
  return merged.servers.includes(name) ? fail(reason) : warn(reason);
}

const toolsText = (tools: string[]): string =>
  `${tools.length} ${tools.length === 1 ? "tool" : "tools"}: ${tools.slice(0, 4).join(", ")}${tools.length > 4 ? ", …" : ""}`;

function judgePlugins(report: CodexReport, { runtime }: CodexExpectation): Check[] {
  const on = new Set(pluginsIn(report).flatMap((each) => (each.enabled ? titleOfPlugin(each) : [])));
  const wanted = runtime.plugins.filter(({ enabled }) => enabled).map(titleOfPlugin);
  return wanted.map((title) => ({
    id: `plugin.${title}`,
    ...(on.has(title) ? ok("installed and enabled") : fail("Codex does not report it as enabled")),
  }));
}
