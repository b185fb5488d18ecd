import { Fault } from "../../../errors.js";
import { quote } from "../../../quote.js";
import { isRecord } from "../../../text/record.js";
import type { AgentRuntime, ProbePurpose } from "../../agent-runtime.js";
import type { ManagedFile } from "../../plan/managed-file.js";
import type { Plan } from "../../plan/plan.js";
import { textOf } from "../../plan/plan-files.js";
import type { ResolvedAgent } from "../../plan/resolved-agent.js";
import { fillPaths, type RuntimeRecord } from "../../plan/runtime.js";
import { opening, titleOfPlugin } from "./block.js";
import { callback, removeOurs } from "./config-toml.js";
import { agentsId, configId, mergedIn } from "./files.js";
import { unmirrored } from "./mirror.js";
import { isSameProfile, profileFor, reachOf } from "./permissions.js";
import { judgePreflight, pluginsIn } from "./preflight.js";
import { judgeCodex } from "./proof.js";
import { type CodexReport, probeCommand } from "./report.js";
import { codexHome, codexPlaces } from "./runtime.js";
import { settingIn as yamlSetting } from "./settings.js";

export { parseReport } from "./report.js";

export const fileIds: AgentRuntime["fileIds"] = [configId, agentsId];
export const mirrorId: AgentRuntime["mirrorId"] = agentsId;
export const homeVariable: AgentRuntime["homeVariable"] = "CODEX_HOME";
const answeredByCodex = ["codex", "sandbox", "settings", "plugins", "login.codex"];
export const programChecks: AgentRuntime["programChecks"] = new Set(answeredByCodex);

export const mirrorQuestion: AgentRuntime["mirrorQuestion"] =
  "Codex does not read SOUL.md, MEMORY.md and USER.md. Write them to its AGENTS.md, and keep that current?";

export const recordOf: AgentRuntime["recordOf"] = (agent, { homes }) =>
  agent.runtime ?? {
    kind: "auto",
    home: fillPaths(agent, homes.shared),
    permissions: ":workspace",
    mirror: false,
    plugins: [],
  };

export const reads: AgentRuntime["reads"] = (agent) => {
  const { config, agents, ...mind } = codexPlaces(agent);
  return { [configId]: config, [agentsId]: agents, ...mind };
};

export const settingIn: AgentRuntime["settingIn"] = (config, { key }) => {
  const model = yamlSetting(config, "model");
  const setting = model instanceof Map ? model.get(key) : undefined;
  return setting && "text" in setting ? setting.text : undefined;
};

/** The user's own permissions in config.toml take precedence. */
const permissionsOf = (agent: ResolvedAgent, plan: Plan | undefined): string =>
  (plan && mergedIn(plan)?.permissions) ?? agent.runtime?.permissions ?? "";

/** Seconds for MCP servers to get ready: more when one of them is configured with more. */
const serverSeconds = (plan: Plan | undefined): number =>
  Math.min(600, Math.max(60, (plan && mergedIn(plan)?.timeout) ?? 0));

export const probe: AgentRuntime["probe"] = (agent, type, plan, purpose) => {
  const { session, ephemeral, trial } = probes[purpose];
  const seconds = session ? serverSeconds(plan) : 0;
  const sandbox = trial && trials[reachOf(permissionsOf(agent, plan))];
  return { ...probeCommand(agent, type, { thread: session && seconds, ephemeral, sandbox }), seconds };
};

const probes: Record<ProbePurpose, { session: boolean; ephemeral: boolean; trial: boolean }> = {
  login: { session: false, ephemeral: true, trial: false },
  preflight: { session: false, ephemeral: true, trial: true },
  status: { session: true, ephemeral: true, trial: true },
  accept: { session: true, ephemeral: false, trial: false },
};

/** What is tried in the sandbox of a profile. */
const trials = { read: "read", write: "write", unknown: "write", everything: false } as const;

type Preflight = Omit<Parameters<AgentRuntime["preflight"]>[0], "report"> & { report: CodexReport };

export const preflight = ({ files, plan, observation, ...input }: Preflight) =>
  judgePreflight({
    ...input,
    provider: providerIn(files),
    permissions: permissionsOf(input.resolved, plan),
    hasBlock: observation.texts[configId]?.text?.includes(opening) ?? false,
  });

/** The provider of the agent's model, as the agent calls it. */
function providerIn(files: readonly ManagedFile[]): string {
  const content = files.find(({ id }) => id === "config")?.content;
  const model = content?.merge === "yaml" ? content.tree.model : undefined;
  return String((isRecord(model) && model.provider) || "nobody");
}

export function accepted(resolved: ResolvedAgent, plan: Plan, report: CodexReport) {
  const merged = mergedIn(plan);
  const { runtime } = resolved;
  if (!merged || !runtime) throw new Error("a plan for Codex without its files");
  return judgeCodex(report, { resolved, runtime, merged });
}

export const settled = (runtime: RuntimeRecord, version: string, report: CodexReport): RuntimeRecord => ({
  ...runtime,
  // The names of its profiles are unknown until a version is installed.
  permissions: profileFor(runtime.permissions, version, version === report.version ? report.profiles : null),
  plugins: pluginsIn(report),
});

export const mustGetPermissions: AgentRuntime["mustGetPermissions"] = (plan, permissions) => {
  const own = mergedIn(plan)?.permissions;
  if (own === undefined || permissions === undefined || isSameProfile(permissions, own)) return;
  const { host, ref } = plan.agent;
  const path = plan.files.find(({ file }) => file.id === configId)?.file.path ?? "";
  throw new Fault("conflict", `${path} on ${host} has default_permissions of its own: ${own}`, {
    why: `that takes precedence over --permissions ${permissions}`,
    next: `clm agent exec ${ref} -- grep -n default_permissions ${quote(path)}`,
  });
};

export const settingsIn: AgentRuntime["settingsIn"] = mergedIn;

export const cleaned: AgentRuntime["cleaned"] = (agent, type, { [configId]: owned }, texts) => {
  const paths = codexPlaces({ ...agent, runtime: recordOf(agent, type) });
  const servers = yamlSetting(texts.config?.text ?? "", "mcp_servers");
  const plugins = agent.runtime && new Set(agent.runtime.plugins.map(titleOfPlugin));
  const config = textOf(agent, paths.config, texts[configId]);
  const agents = textOf(agent, paths.agents, texts[agentsId]);
  const isOurs = (name: string) =>
    name === callback || owned?.includes(name) === true || (servers instanceof Map && servers.has(name));
  // Plugins that Hermes itself added are recorded nowhere.
  const isOurPlugin = (title: string) => plugins?.has(title) ?? true;
  const ours = { server: isOurs, plugin: isOurPlugin, whole: owned !== undefined };
  const { text, notes } = config === undefined ? { notes: [] } : removeOurs(config, ours);
  const files = [
    { path: paths.config, before: config, text },
    { path: paths.agents, before: agents, text: agents === undefined ? undefined : unmirrored(agents) },
  ];
  return { files: files.filter((file) => file.text !== file.before), notes };
};

export const loginState = ({ account, hermes }: CodexReport) => ({
  program: (account && "kind" in account ? account.kind : undefined) ?? undefined,
  needed: !account || !("needed" in account) || account.needed,
  agent: hermes,
});

export const loginWords: AgentRuntime["loginWords"] = (agent, type, how) => {
  const environment = Object.entries(codexHome(agent)).map(([name, value]) => `${name}=${value}`);
  return ["env", ...environment, type.program, ...(how === "api-key" ? ["login", "--with-api-key"] : type.login)];
};
