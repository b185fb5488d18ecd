import agentText from "../../../templates/agent.service.hbs?raw";
import proxyText from "../../../templates/proxy.service.hbs?raw";
import { own } from "../../text/own-property.js";
import { fileTemplate } from "../files/file-template.js";
import { unitArgument, unitPath, unitWord } from "../files/systemd-quote.js";
import { fill } from "../files/template.js";
import { type Account, environmentOf } from "./account.js";
import type { AgentProxy, ProxyType } from "./proxy.js";
import type { ResolvedAgent } from "./resolved-agent.js";
import { activeRuntime } from "./runtime.js";

const helpers = { word: unitWord, path: unitPath };
const agentTemplate = fileTemplate<object>(agentText, helpers);
const proxyTemplate = fileTemplate<object>(proxyText, helpers);

/** A sandbox directive, and the systemd version that introduced it. */
interface SandboxDirective {
  directive: string;
  since: number;
  /** Omitted for relaxed agents: it breaks Chromium's own sandbox. */
  relaxed?: "without";
}

const sandbox = (home: string): SandboxDirective[] => [
  { directive: "NoNewPrivileges=yes", since: 187 },
  { directive: "CapabilityBoundingSet=", since: 1 },
  { directive: "AmbientCapabilities=", since: 229 },
  { directive: "PrivateTmp=yes", since: 1 },
  { directive: "PrivateDevices=yes", since: 209, relaxed: "without" },
  { directive: "ProtectSystem=strict", since: 232 },
  { directive: "ProtectHome=tmpfs", since: 239 },
  { directive: `BindPaths=${unitWord(home)}`, since: 233 },
  { directive: "ProtectKernelTunables=yes", since: 232 },
  { directive: "ProtectKernelModules=yes", since: 232 },
  { directive: "ProtectKernelLogs=yes", since: 244 },
  { directive: "ProtectControlGroups=yes", since: 232 },
  { directive: "ProtectClock=yes", since: 245 },
  { directive: "ProtectHostname=yes", since: 242 },
  { directive: "ProtectProc=invisible", since: 247 },
  { directive: "ProcSubset=pid", since: 247, relaxed: "without" },
  { directive: "LockPersonality=yes", since: 235 },
  { directive: "RestrictRealtime=yes", since: 231 },
  { directive: "RestrictSUIDSGID=yes", since: 242 },
  { directive: "RestrictNamespaces=yes", since: 233, relaxed: "without" },
  { directive: "RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6 AF_NETLINK", since: 211 },
  { directive: "SystemCallArchitectures=native", since: 209 },
  { directive: "SystemCallFilter=@system-service", since: 231, relaxed: "without" },
  { directive: "SystemCallFilter=~@privileged @resources", since: 231, relaxed: "without" },
  { directive: "RemoveIPC=yes", since: 232 },
  { directive: "KeyringMode=private", since: 235 },
];

export type Confined = Pick<ResolvedAgent, "manifest" | "version" | "relaxed" | "runtime" | "paths">;

/** The directives for the host's systemd, and those omitted for a relaxed agent or its runtime. */
function sandboxOf(agent: Confined, systemd: number): { directives: string[]; omitted: string[] } {
  const instead = activeRuntime(agent)?.sandbox.instead ?? {};
  const known = sandbox(agent.paths.home).filter(({ since }) => since <= systemd);
  const inPlaceOf = ({ directive, relaxed }: SandboxDirective): string[] => {
    if (agent.relaxed && relaxed) return [];
    return own(instead, directive) ?? [directive];
  };
  const omitted = known.filter((each) => !inPlaceOf(each).includes(each.directive));
  return { directives: known.flatMap(inPlaceOf), omitted: omitted.map(({ directive }) => directive) };
}

/** The sandbox of the agent's service, for everything that runs as the agent. */
export const sandboxDirectives = (agent: Confined, systemd: number): string[] => sandboxOf(agent, systemd).directives;

export function unitFile(agent: ResolvedAgent, systemd: number): string {
  const { manifest, name, unit, relaxed, paths } = agent;
  const { directives, omitted } = sandboxOf(agent, systemd);
  return agentTemplate({
    ...processOf(agent),
    unit,
    description: `${manifest.title} ${name}`.replaceAll("%", "%%"),
    env: paths.env,
    command: commandOf(agent, manifest.unit.args),
    service: manifest.unit.service,
    relaxed,
    runtime: activeRuntime(agent)?.sandbox.why ?? "",
    left: [...new Set(omitted.map((directive) => directive.replace(/=.*/, "")))].join(", "),
    directives,
  });
}

/** The unit of its proxy, always in the full sandbox: neither a browser nor another runtime runs there. */
export function proxyUnitFile(
  { runtime: _, ...agent }: ResolvedAgent,
  { provider, port }: AgentProxy,
  { args, no_restart_on: noRestartOn }: ProxyType,
  systemd: number,
): string {
  const { manifest, name } = agent;
  const words = args.map((arg) => fill(arg, { provider, port }) ?? arg);
  return proxyTemplate({
    ...processOf(agent),
    description: `${manifest.title} ${name}, proxy to ${provider}`.replaceAll("%", "%%"),
    command: commandOf(agent, words),
    noRestartOn: noRestartOn.join(" "),
    directives: sandboxDirectives({ ...agent, relaxed: false }, systemd),
  });
}

const processOf = (agent: Account): object => ({
  user: agent.user,
  home: agent.paths.home,
  environment: Object.entries(environmentOf(agent)).map(([key, value]) => `${key}=${value}`),
});

const commandOf = ({ paths }: Account, args: string[]): string =>
  [unitWord(paths.launcher), ...args.map(unitArgument)].join(" ");
