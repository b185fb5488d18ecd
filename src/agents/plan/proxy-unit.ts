import text from "../../../templates/proxy.service.hbs?raw";
import { type UnitOperation, unit } from "../../remote/operations/operation.js";
import { fileTemplate } from "../files/file-template.js";
import { unitArgument, unitPath, unitWord } from "../files/systemd-quote.js";
import { fill } from "../files/template.js";
import { inRange } from "../manifest/versions.js";
import { environmentOf } from "./account.js";
import { type AgentProxy, type ProxyType, proxyOf, proxyProviders } from "./proxy.js";
import type { ResolvedAgent } from "./resolved-agent.js";
import { hardeningOf } from "./unit-file.js";

const template = fileTemplate<Record<string, unknown>>(text, { word: unitWord, path: unitPath });

/** The proxy's unit, running even while the agent is stopped: it needs only its login. None when the version has no proxy. */
export function proxyOperations(agent: ResolvedAgent, systemd: number): UnitOperation[] {
  const proxy = proxyOf(agent);
  const type = agent.manifest.proxy;
  if (!proxy || !type || !inRange(agent.version, type.when)) return [];
  if (!proxyProviders(agent, type).includes(proxy.provider)) return [];
  return [unit(proxy.unit, { content: unitFile(agent, proxy, type, systemd), enabled: true, state: "started" })];
}

/** Always in the full sandbox: neither a browser nor another runtime runs in the proxy. */
function unitFile(
  { runtime: _, ...agent }: ResolvedAgent,
  { provider, port }: AgentProxy,
  type: ProxyType,
  systemd: number,
): string {
  const { manifest, name, user, paths } = agent;
  const words = type.args.map((arg) => fill(arg, { provider, port }) ?? arg);
  return template({
    description: `${manifest.title} ${name}, proxy to ${provider}`.replaceAll("%", "%%"),
    user,
    home: paths.home,
    environment: Object.entries(environmentOf(agent)).map(([key, value]) => `${key}=${value}`),
    command: [unitWord(paths.launcher), ...words.map(unitArgument)].join(" "),
    hopeless: type.hopeless.join(" "),
    hardening: hardeningOf({ ...agent, relaxed: false }, systemd),
  });
}
