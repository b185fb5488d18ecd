import type { AgentProxy } from "../../../agents/plan/proxy.js";
import type { ProxyStatus } from "../../../flows/agent/proxy/status.js";
import type { Agent } from "../../../state/agents.js";
import { describe } from "../../describe.js";

const asModel = ({ ref }: Agent): string => `${ref}/proxy/MODEL`;

export const toJson = (agent: Agent, { provider, port, unit, paths, maxBodyBytes }: AgentProxy): object => ({
  provider,
  port,
  unit,
  paths: paths.map((path) => `/v1${path}`),
  largest_body: maxBodyBytes,
  model: asModel(agent),
});

export function statusJson(status: ProxyStatus): object {
  const { agent, proxy, unit, enabled, holders, logins, upstream, authenticated, trouble } = status;
  return {
    proxy: proxy ? toJson(agent, proxy) : null,
    serves: proxy !== undefined && trouble === undefined,
    unit: unit ?? null,
    enabled,
    held_by: holders,
    logins,
    ...(upstream !== undefined && { upstream }),
    ...(authenticated !== undefined && { authenticated }),
    ...(trouble && { reason: [trouble.message, ...trouble.why].join(": ") }),
  };
}

export function describeStatus({ agent, proxy, unit, enabled, holders, logins, upstream }: ProxyStatus): string {
  return describe(12, [
    ["Proxy", proxy ? `${proxy.provider}, 127.0.0.1:${proxy.port} on ${agent.host.name}` : "none"],
    ["Unit", unit && `${proxy?.unit ?? ""} ${unit}${enabled ? "" : ", not enabled"}`.trim()],
    ["Held by", holders.map(({ pid, user, command, own }) => holderText(pid, user, command, own)).join("; ")],
    ["Upstream", upstream],
    ["Paths", proxy?.paths.map((path) => `/v1${path}`).join(" ")],
    ...logins.map(({ provider, state }): [string, string] => [`Login ${provider}`, state]),
  ]);
}

const holderText = (pid: number, user: string, command: string, own: boolean): string =>
  own ? `its own process ${pid}` : `ANOTHER process: pid ${pid}, user ${user}, ${command || "?"}`;

export const howToReach = (agent: Agent, { port }: AgentProxy): string[] => [
  `use it as ${asModel(agent)} through 'clm gateway serve', with keys, limits and a log`,
  `it has none of these itself: every user of ${agent.host.name} can use 127.0.0.1:${port} there`,
];
