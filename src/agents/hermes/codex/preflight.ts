import { type Check, fail, ok, skipped, type Verdict, warn } from "../../check.js";
import { compareVersions } from "../../manifest/versions.js";
import type { ResolvedAgent } from "../../plan/resolved-agent.js";
import type { RuntimeType } from "../../plan/runtime.js";
import { type Plugin, titleOfPlugin } from "./block.js";
import { reachOf } from "./permissions.js";
import { type CodexReport, faultIn, refusalIn } from "./report.js";
import { runtimeEnv } from "./runtime.js";

export interface PreflightInput {
  resolved: ResolvedAgent;
  type: RuntimeType;
  /** The model's provider in the rendered config.yaml. */
  provider: string;
  permissions: string;
  /** config.toml has a block that would be rewritten. */
  hasBlock: boolean;
  report: CodexReport;
}

export function judgePreflight(before: PreflightInput): Check[] {
  const { manifest, version } = before.resolved;
  const checks: Check[] = [
    { id: "version", ...ok(`${manifest.title} ${version} can hand its turns over`) },
    { id: "provider", ...judgeProvider(before) },
    { id: "codex", ...judgeProgram(before) },
    { id: "login.agent", ...judgeHermesLogin(before) },
    { id: "cwd", ...judgeCwd(before) },
  ];
  if (!before.report.version) return checks;
  return [
    ...checks,
    { id: "login.codex", ...judgeCodexLogin(before) },
    { id: "sandbox", ...judgeSandbox(before) },
    { id: "settings", ...judgeSettings(before) },
    ...judgePlugins(before).map((verdict) => ({ id: "plugins", ...verdict })),
  ];
}

function judgeProvider({ resolved: { ref }, type, provider }: PreflightInput): Verdict {
  if (provider === type.provider) return ok(provider);
  return fail(
    `its model is served by ${provider}; Codex needs ${type.provider}`,
    `clm provider add NAME --type ${type.provider} && clm agent configure ${ref} --provider NAME`,
  );
}

function judgeProgram({ resolved: { ref }, type, report: { program, version, broken } }: PreflightInput): Verdict {
  const fix = `clm agent runtime codex ${ref} --install-codex`;
  if (!program) return fail(`there is no ${type.program} on the PATH of its service`, fix);
  if (!version) return fail(`${program} does not run: ${broken ?? "it says no version"}`, fix);
  const seen = `${version} (${program})`;
  if (compareVersions(version, type.min_version) < 0) return fail(`${seen}: the minimum is ${type.min_version}`, fix);
  if (compareVersions(version, type.recommended) < 0)
    return warn(`${seen}: ${type.recommended} or newer is recommended`, fix);
  return ok(seen);
}

const loginOf = (agent: ResolvedAgent): string => {
  const own = Object.keys(runtimeEnv(agent)).length > 0 ? " --codex-home own" : "";
  return `clm agent runtime login ${agent.ref}${own}`;
};

function judgeHermesLogin({ resolved: agent, type, report }: PreflightInput): Verdict {
  const { title } = agent.manifest;
  if (report.hermes) return ok(`${title} has a login at ${type.provider}`);
  if (!report.hermes_expired) return fail(`${title} itself has no login at ${type.provider}`, loginOf(agent));
  const end = new Date(report.hermes_expired * 1000).toISOString();
  return fail(
    `the login of ${title} itself at ${type.provider} expired at ${end}, and it has no refresh token`,
    loginOf(agent),
  );
}

/** Skipped for a Codex that rejects its settings: it would use others, which need another login. */
export function judgeCodexLogin({ resolved: agent, report }: Pick<PreflightInput, "resolved" | "report">): Verdict {
  const { account, settings, server_fault } = report;
  if (refusalIn(report) !== undefined) return skipped("needs settings");
  const trouble = server_fault ?? faultIn(account);
  if (trouble !== undefined) return fail(`its app-server does not report: ${trouble}`);
  const { kind, needed = true } = account && "needed" in account ? account : {};
  if (kind) return ok(`Codex is logged in (${kind})`);
  if (needed) return fail("Codex is not logged in", loginOf(agent));
  const own = settings && "model_provider" in settings ? settings.model_provider : undefined;
  return ok(`not needed: its model provider is ${own ?? "your own"}`);
}

function judgeCwd({ resolved: agent, report: { cwd }, permissions }: PreflightInput): Verdict {
  const fix = `clm agent sync ${agent.ref}`;
  if (!cwd.exists) return fail(`the working directory ${cwd.path} does not exist`, fix);
  if (cwd.readable && (cwd.writable || reachOf(permissions) === "read")) return ok(cwd.path);
  return fail(`the agent cannot ${cwd.readable ? "write to" : "read"} its working directory ${cwd.path}`, fix);
}

function judgeSandbox({ resolved: agent, permissions, report }: PreflightInput): Verdict {
  const { sandbox_trial: trial } = report;
  // Codex does not create a sandbox then.
  if (refusalIn(report) !== undefined) return skipped("needs settings");
  if (reachOf(permissions) === "everything")
    return warn("none: with this profile Codex' tools may do all that the agent's user may");
  if (!trial) return skipped("was not tried");
  if (trial.works) return ok("a command ran in it, inside the service's sandbox");
  return fail(`Codex cannot make its sandbox in the service's unit: ${trial.why}`, `clm host check ${agent.host}`);
}

function judgeSettings({ report, hasBlock }: PreflightInput): Verdict {
  const refused = refusalIn(report);
  if (refused === undefined)
    return ok(`${report.home}/config.toml ${report.config ? "can be read" : "is not there yet"}`);
  const reason = `Codex refuses it as it is: ${refused}`;
  // The error may be in the block that clm rewrites; Codex checks the file again after that.
  return hasBlock ? warn(reason) : fail(reason);
}

function judgePlugins({ report }: PreflightInput): Verdict[] {
  const { plugins } = report;
  const lost = faultIn(plugins);
  if (lost !== undefined && refusalIn(report) === undefined) return [warn(`Codex does not list them: ${lost}`)];
  if (!plugins || !("listed" in plugins)) return [];
  const taken = pluginsIn(report).map(titleOfPlugin).sort().join(", ");
  return [
    ...plugins.errors.map((error) => warn(error)),
    ...plugins.listed
      .filter(isLeftOut)
      .map((plugin) => warn(`${titleOfPlugin(plugin)} is ${plugin.availability}, and left out`)),
    ...(taken === "" ? [] : [ok(taken)]),
  ];
}

const isLeftOut = ({ availability }: { availability?: string | null | undefined }): boolean =>
  Boolean(availability) && availability !== "AVAILABLE";

export function pluginsIn({ plugins }: Pick<CodexReport, "plugins">): Plugin[] {
  if (!plugins || !("listed" in plugins)) return [];
  return plugins.listed
    .filter((each) => each.installed && !isLeftOut(each))
    .map(({ name, marketplace, enabled }) => ({ name, marketplace, enabled: enabled !== false }));
}
