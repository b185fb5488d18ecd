import { Fault } from "../../errors.js";
import { didYouMean } from "../../text/nearest.js";
import { fill } from "../files/template.js";
import type { Manifest } from "../manifest/manifest.js";
import { inRange } from "../manifest/versions.js";
import type { ResolvedAgent } from "../plan/resolved-agent.js";

export type ProxyType = NonNullable<Manifest["proxy"]>;

/** A server beside the agent that lends the login of a subscription to whoever reaches its port. */
export interface AgentProxy {
  /** Whose login it lends: `nous`. */
  provider: string;
  /** On the host's loopback. */
  port: number;
  unit: string;
  /** What it passes on, below /v1. */
  paths: string[];
  /** Bytes of a request that it reads. */
  largest: number;
}

/** The proxy that an agent is recorded to have; nothing when it has none. */
export function proxyOf(agent: ResolvedAgent): AgentProxy | undefined {
  const { manifest, proxy } = agent;
  const type = manifest.proxy;
  if (!type || !proxy) return undefined;
  return {
    provider: proxy.provider,
    port: proxy.port,
    unit: proxyUnit(agent, type),
    paths: type.providers[proxy.provider]?.paths ?? [],
    largest: type.largest,
  };
}

/** What its unit is called, whether it is there or not. */
export const proxyUnit = ({ name }: Pick<ResolvedAgent, "name">, { unit }: ProxyType): string =>
  fill(unit, { name }) ?? unit;

/** What the manifest says of it, or a fault when the agent's version has none. */
export function proxyTypeOf({ manifest, name, version }: ResolvedAgent): ProxyType {
  const { proxy, title } = manifest;
  if (proxy && inRange(version, proxy.when)) return proxy;
  throw new Fault("unsupported", `${name} can have no proxy`, {
    why: proxy ? `${title} ${version} has none; versions ${proxy.when} do` : `${title} has none`,
    next: `clm registry show ${manifest.type}`,
  });
}

/** The same of the proxy that an agent is recorded to have, which may be of a later version than the agent is by now. */
export const recordedProxyType = (agent: ResolvedAgent): ProxyType =>
  (agent.proxy && agent.manifest.proxy) ?? proxyTypeOf(agent);

/** The providers whose login this version can lend. */
export const proxyProviders = ({ version }: ResolvedAgent, { providers }: ProxyType): string[] =>
  Object.keys(providers).filter((name) => inRange(version, providers[name]?.when ?? "*"));

/** Refuses a provider that this version knows nothing of. */
export function mustServe(agent: ResolvedAgent, type: ProxyType, provider: string): void {
  const known = proxyProviders(agent, type);
  if (known.includes(provider)) return;
  const { title } = agent.manifest;
  const later = Object.hasOwn(type.providers, provider) ? type.providers[provider]?.when : undefined;
  if (later) {
    throw new Fault("unsupported", `the proxy of ${agent.name} cannot lend ${provider}`, {
      why: `${title} ${agent.version} cannot; versions ${later} can`,
      next: `clm agent proxy ${agent.ref} enable --provider ${known[0]}`,
      data: { providers: known },
    });
  }
  const { why, data } = didYouMean(provider, known, `there are ${known.join(", ")}`);
  throw new Fault("bad-input", `no proxy lends '${provider}'`, { why, data: { providers: known, ...data } });
}

/**
 * The port of a proxy: the one it has, or the first that nobody has. `taken` are those of agents, up or down, its own API
 * too; `heard` are those that somebody listens on, but for what its own unit holds.
 */
export function proxyPort(
  { ports: { first, last } }: ProxyType,
  kept: number | undefined,
  taken: readonly number[],
  heard: readonly number[],
): number | undefined {
  const isFree = (port: number) => !taken.includes(port) && !heard.includes(port);
  if (kept !== undefined && isFree(kept)) return kept;
  for (let port = first; port <= last; port++) if (isFree(port)) return port;
  return undefined;
}
