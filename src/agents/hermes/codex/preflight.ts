import type { Check } from "../../check.js";
import { compareVersions } from "../../manifest/versions.js";
import type { ResolvedAgent } from "../../plan/resolved-agent.js";
import type { Plugin } from "./block.js";
import { titleOfPlugin } from "./block.js";
import { reachOf } from "./permissions.js";
import { type CodexReport, faultIn, refusalIn } from "./report.js";
import { type CodexType, runtimeEnv } from "./runtime.js";

export interface PreflightInput {
  resolved: ResolvedAgent;
  type: CodexType;
  /** The model's provider in the rendered config.yaml. */
  provider: string;
  permissions: string;
  /** config.toml has a block that would be rewritten. */
  migrated: boolean;
  report: CodexReport;
}

export function judgePreflight(before: PreflightInput): Check[] {
  const { resolved: agent, type, provider } = before;
  return [
    { id: "version", result: "ok", reason: `${agent.manifest.title} ${agent.version} can hand its turns over` },
    provider === type.provider
      ? { id: "provider", result: "ok", reason: provider }
      : {
          id: "provider",
          result: "fail",
          reason: `its model is served by ${provider}; Codex needs ${type.provider}`,
          fix: `clm provider add NAME --type ${type.provider} && clm agent configure ${agent.ref} --provider NAME`,
        },
    judgeProgram(before),
    judgeHermesLogin(before),
    judgeCwd(before),
    ...(before.report.version ? [judgeCodexLogin(before), judgeSandbox(before), ...judgeSettings(before)] : []),
  ];
}

function judgeProgram({ resolved: agent, type, report }: PreflightInput): Check {
  const { program, version, broken } = report;
  const id = "codex";
  const fix = `clm agent runtime codex ${agent.ref} --install-codex`;
  if (!program) {
    return { id, result: "fail", reason: `there is no ${type.program} on the PATH of its service`, fix };
  }
  if (!version)
    return { id, result: "fail", reason: `${program} does not run: ${broken ?? "it says no version"}`, fix };
  const seen = `${version} (${program})`;
  if (compareVersions(version, type.least) < 0) {
    return { id, result: "fail", reason: `${seen}: it takes ${type.least} at least`, fix };
  }
  if (compareVersions(version, type.advised) < 0) {
    return { id, result: "warn", reason: `${seen}: ${type.advised} is advised at least`, fix };
  }
  return { id, result: "ok", reason: seen };
}

const loginOf = ({ resolved: agent }: { resolved: ResolvedAgent }): string => {
  const own = Object.keys(runtimeEnv(agent)).length > 0 ? " --codex-home own" : "";
  return `clm agent runtime login ${agent.ref}${own}`;
};

function judgeHermesLogin(before: PreflightInput): Check {
  const { resolved: agent, type, report } = before;
  const id = "login.agent";
  if (report.hermes) return { id, result: "ok", reason: `${agent.manifest.title} has a login at ${type.provider}` };
  const { hermes_expired: ended } = report;
  const reason = ended
    ? `the login of ${agent.manifest.title} itself at ${type.provider} expired at ${new Date(ended * 1000).toISOString()}, and it has no refresh token`
    : `${agent.manifest.title} itself has no login at ${type.provider}`;
  return { id, result: "fail", reason, fix: loginOf(before) };
}

/** Skipped for a Codex that rejects its settings: it would use others, which need another login. */
export function judgeCodexLogin(before: { resolved: ResolvedAgent; report: CodexReport }): Check {
  const { account, settings, server_fault } = before.report;
  const id = "login.codex";
  if (refusalIn(before.report) !== undefined) return { id, result: "skipped", reason: "needs settings" };
  const trouble = server_fault ?? faultIn(account);
  if (trouble !== undefined) return { id, result: "fail", reason: `its app-server does not tell: ${trouble}` };
  const { kind, needed = true } = account && "needed" in account ? account : {};
  if (kind) return { id, result: "ok", reason: `Codex is logged in (${kind})` };
  if (needed) return { id, result: "fail", reason: "Codex is not logged in", fix: loginOf(before) };
  const own = settings && "model_provider" in settings ? settings.model_provider : undefined;
  return { id, result: "ok", reason: `not needed: its model provider is ${own ?? "your own"}` };
}

function judgeCwd({ resolved: agent, report: { cwd }, permissions }: PreflightInput): Check {
  const id = "cwd";
  const fix = `clm agent sync ${agent.ref}`;
  if (!cwd.there) return { id, result: "fail", reason: `${cwd.path}, where it works, is not there`, fix };
  if (cwd.readable && (cwd.writable || reachOf(permissions) === "read")) return { id, result: "ok", reason: cwd.path };
  return { id, result: "fail", reason: `${cwd.path}, where it works, is not its own to write in`, fix };
}

function judgeSandbox({ resolved: agent, permissions, report }: PreflightInput): Check {
  const id = "sandbox";
  const { sandbox_trial: trial } = report;
  // Codex does not create a sandbox then.
  if (refusalIn(report) !== undefined) return { id, result: "skipped", reason: "needs settings" };
  if (reachOf(permissions) === "everything") {
    return { id, result: "warn", reason: "none: with this profile Codex' tools may do all that the agent's user may" };
  }
  if (!trial) return { id, result: "skipped", reason: "was not tried" };
  if (trial.works) return { id, result: "ok", reason: "a command ran in it, closed in as the service will be" };
  const reason = `Codex cannot make its sandbox in the service's unit: ${trial.why}`;
  return { id, result: "fail", reason, fix: `clm host check ${agent.host}` };
}

function judgeSettings({ report, migrated }: PreflightInput): Check[] {
  const { plugins, home, config } = report;
  const refused = refusalIn(report);
  const said: Check[] = [
    refused === undefined
      ? { id: "settings", result: "ok", reason: `${home}/config.toml ${config ? "can be read" : "is not there yet"}` }
      : // The error may be in the block that clm rewrites; Codex checks the file again after that.
        { id: "settings", result: migrated ? "warn" : "fail", reason: `Codex refuses it as it is: ${refused}` },
  ];
  const lost = faultIn(plugins);
  if (lost !== undefined && refused === undefined)
    said.push({ id: "plugins", result: "warn", reason: `Codex does not list them: ${lost}` });
  if (!plugins || !("listed" in plugins)) return said;
  for (const error of plugins.errors) said.push({ id: "plugins", result: "warn", reason: error });
  for (const { name, marketplace, availability } of plugins.listed.filter(isLeftOut)) {
    const reason = `${name}@${marketplace} is ${availability}, and left out`;
    said.push({ id: "plugins", result: "warn", reason });
  }
  const taken = pluginsIn({ plugins });
  if (taken.length > 0) {
    said.push({ id: "plugins", result: "ok", reason: taken.map(titleOfPlugin).sort().join(", ") });
  }
  return said;
}

const isLeftOut = ({ availability }: { availability?: string | null | undefined }): boolean =>
  Boolean(availability) && availability !== "AVAILABLE";

export function pluginsIn({ plugins }: Pick<CodexReport, "plugins">): Plugin[] {
  if (!plugins || !("listed" in plugins)) return [];
  return plugins.listed
    .filter((each) => each.installed && !isLeftOut(each))
    .map(({ name, marketplace, enabled }) => ({ name, marketplace, enabled: enabled !== false }));
}
