import type { AgentProxy } from "../../../agents/plan/proxy.js";
import { disableProxy } from "../../../flows/agent/proxy/disable.js";
import { enableProxy } from "../../../flows/agent/proxy/enable.js";
import { type ProxyStatus, proxyStatus } from "../../../flows/agent/proxy/status.js";
import type { Agent } from "../../../state/agents.js";
import type { Handler } from "../../command.js";
import { describe } from "../../describe.js";
import { dryRunLines } from "../../print-result.js";
import { runOnAgents } from "../../run-on-agents.js";
import * as declared from "./commands.js";

export const enable: Handler<typeof declared.enable> = (input, clm) =>
  runOnAgents(declared.enable, input, clm, {
    run: (session, ref) => enableProxy(session, ref, input.options.provider),
    json: ({ agent, proxy, changes, upstream }) => ({
      proxy: proxyData(agent, proxy),
      ...(upstream && { upstream }),
      changes,
    }),
    lines: ({ agent, proxy, changes }, subject) => {
      const lends = `${subject}lends its login at ${proxy.provider}`;
      if (clm.dryRun) return dryRunLines(changes, `${lends} already`);
      const how = changes.length === 0 ? " already; nothing was changed" : `: ${proxy.unit}, port ${proxy.port}`;
      return [`${lends}${how}`, ...howToReach(agent, proxy)];
    },
  });

export const disable: Handler<typeof declared.disable> = (input, clm) =>
  runOnAgents(declared.disable, input, clm, {
    run: disableProxy,
    json: ({ changes }) => ({ changes }),
    lines: ({ changes }, subject) => {
      if (clm.dryRun) return dryRunLines(changes, `${subject}has no proxy`);
      if (changes.length === 0) return [`${subject}has no proxy; nothing was changed`];
      return [`${subject}no longer lends its login; it stays logged in`];
    },
  });

export const status: Handler<typeof declared.status> = (input, clm) =>
  runOnAgents(declared.status, input, clm, {
    run: proxyStatus,
    json: statusData,
    lines: (found, subject) => {
      if (found.trouble || !found.proxy) return subject === "" && !found.proxy ? ["has no proxy"] : [];
      const { agent, proxy } = found;
      return subject === "" ? [`lends its login at ${proxy.provider}, port ${proxy.port}`] : howToReach(agent, proxy);
    },
    print: (found) => clm.ui.out(`${describeStatus(found)}\n`),
    verify: ({ trouble }) => {
      if (trouble) throw trouble;
    },
  });

const asModel = ({ ref }: Agent): string => `${ref}/proxy/MODEL`;

const proxyData = (agent: Agent, { provider, port, unit, paths, maxBodyBytes }: AgentProxy): object => ({
  provider,
  port,
  unit,
  paths: paths.map((path) => `/v1${path}`),
  largest_body: maxBodyBytes,
  model: asModel(agent),
});

function statusData(status: ProxyStatus): object {
  const { agent, proxy, unit, enabled, holders, logins, upstream, authenticated, trouble } = status;
  return {
    proxy: proxy ? proxyData(agent, proxy) : null,
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

function describeStatus({ agent, proxy, unit, enabled, holders, logins, upstream }: ProxyStatus): string {
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

const howToReach = (agent: Agent, { port }: AgentProxy): string[] => [
  `use it as ${asModel(agent)} through 'clm gateway serve', with keys, limits and a log`,
  `it has none of these itself: every user of ${agent.host.name} can use 127.0.0.1:${port} there`,
];
