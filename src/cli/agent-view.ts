import { type Check, isWell } from "../agents/check.js";
import { type Agent, agentId } from "../state/agents.js";
import { modelOf, type Providers, providerStore } from "../state/providers.js";
import type { Context, View } from "./command.js";
import { describe } from "./describe.js";

const onboardingOf = ({ record }: Agent): string =>
  record.status === "installed" ? record.onboarding.state : record.status;

export function agentView({ configDir }: Context): View<Agent> {
  const known = providerStore(configDir).read();
  return {
    columns: [
      { title: "name", value: (agent) => agent.name, whole: true },
      { title: "host", value: (agent) => agent.host.name, whole: true },
      { title: "type", value: ({ record }) => record.type, drop: 1 },
      { title: "version", value: ({ record }) => versionText(record.version), drop: 3 },
      { title: "port", value: ({ record }) => record.port, drop: 4 },
      { title: "provider", value: ({ record }) => record.provider, drop: 5 },
      { title: "model", value: ({ record }) => modelOf(known, record), drop: 2 },
      { title: "state", value: onboardingOf, whole: true },
      { title: "status", value: ({ record }) => record.status, whole: true },
    ],
    data: (agent) => agentData(agent, known),
    name: (agent) => agent.ref,
    empty: "No agents yet. Install one with: clm agent install --type TYPE --host HOST --name NAME",
  };
}

export const versionText = (version: string): string =>
  version.endsWith("+standin") ? `${version.replace("+standin", "")} (stand-in)` : version;

/** The beginning of every JSON object about one agent. */
export function identityOf(agent: Agent): object {
  const { name, host, record } = agent;
  const { type, version, port, status } = record;
  const standin = version.endsWith("+standin");
  const state = onboardingOf(agent);
  return { agent: agentId(agent), name, host: host.name, type, version, standin, port, state, status };
}

export const agentData = (agent: Agent, known: Providers): object => {
  const model = modelOf(known, agent.record);
  return { ...identityOf(agent), ...agent.record, ...(model && { model }) };
};

export function nextCommand({ name, host, record, ref }: Agent): string {
  if (record.status === "installing") return `clm agent install --host ${host.name} --name ${name}`;
  if (record.status === "removing") return `clm agent remove ${ref}`;
  // Whether it runs is not recorded; validate finds out.
  return `clm agent configure ${ref}${record.onboarding.state === "ready" ? " --stage validate" : ""}`;
}

export function describeAgent(agent: Agent, known: Providers, next: string): string {
  const { name, host, record } = agent;
  const { runtime } = record;
  const names = (of: object | undefined) => Object.keys(of ?? {}).join(", ");
  const withModel = (choice: { provider: string; model?: string | undefined }) =>
    [choice.provider, modelOf(known, choice) ?? []].flat().join(" ");
  const auxiliary = Object.entries(record.auxiliary ?? {}).map(([task, choice]) => `${task}: ${withModel(choice)}`);
  return describe(12, [
    ["Name", name],
    ["Key", agentId(agent)],
    ["Host", host.name],
    ["Type", record.type],
    ["Version", versionText(record.version)],
    ["Status", record.status],
    ["Onboarding", onboardingOf(agent)],
    ["Port", `127.0.0.1:${record.port} on ${host.name}`],
    ["Account", record.user],
    ["Home", record.home],
    ["Unit", record.relaxed ? `${record.unit} (relaxed)` : record.unit],
    ...Object.entries(record.settings ?? {}).map(settingLine),
    ["Provider", record.provider],
    ["Model", modelOf(known, record)],
    ["Fallbacks", record.fallbacks?.map(withModel).join(", ")],
    ["Auxiliary", auxiliary.join(", ")],
    ["Channels", names(record.channels)],
    ["MCP", names(record.mcp)],
    ["Proxy", record.proxy && `${record.proxy.provider}, 127.0.0.1:${record.proxy.port} on ${host.name}`],
    ["Runtime", runtime && (runtime.kind === "auto" ? "its own" : `${runtime.kind}, ${runtime.permissions}`)],
    ["Installed", record.installed_at],
    ["Proven", record.proven?.at],
    ...(record.failed
      ? [["Failed", `${record.failed.at}, ${record.failed.proofs.join(", ")}`] as [string, string]]
      : []),
    ["Next", next],
  ]);
}

/** `health_path` as `Health path`. */
const settingLine = ([name, value]: [string, string]): [string, string] => [
  `${name.charAt(0).toUpperCase()}${name.slice(1).replaceAll("_", " ")}`,
  value.replaceAll(",", ", "),
];

export const checkView: View<Check> = {
  columns: [
    { title: "check", value: (row) => row.id, whole: true },
    { title: "result", value: (row) => row.result, whole: true },
    // Printed in full below the table: one long reason would widen every row.
    { title: "reason", value: (row) => (isWell(row) ? row.reason : "see below") },
  ],
  details: (row) => (isWell(row) ? [] : [`${row.id}: ${row.reason}`, ...(row.fix ? [`  fix: ${row.fix}`] : [])]),
  name: (row) => row.id,
};

/** Without the reasons of failed checks: the error that follows has them. */
export const briefCheckView: View<Check> = {
  ...checkView,
  details: (row) => (row.result === "fail" ? [] : (checkView.details?.(row) ?? [])),
};
