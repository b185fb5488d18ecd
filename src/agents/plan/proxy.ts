import { Fault } from "../../errors.js";
import { didYouMean } from "../../text/nearest.js";
import { own } from "../../text/own-property.js";
import { fill } from "../files/template.js";
import type { Manifest } from "../manifest/manifest.js";
import { noCapability } from "../manifest/no-capability.js";
import { inRange } from "../manifest/versions.js";
import { firstPort } from "./ports.js";
import type { ResolvedAgent } from "./resolved-agent.js";

export type ProxyType = NonNullable<Manifest["proxy"]>;

/** A server beside the agent that lends its subscription login to every client of its port. */
export interface AgentProxy {
  /** The provider whose login it lends: `nous`. */
  provider: string;
  /** On the host's loopback. */
  port: number;
  unit: string;
  /** The paths below /v1 that it forwards. */
  paths: string[];
  /** The largest request body, in bytes. */
  maxBodyBytes: number;
}

export function proxyOf(agent: ResolvedAgent): AgentProxy | undefined {
  const { manifest, proxy } = agent;
  const type = manifest.proxy;
  if (!type || !proxy) return undefined;
  return {
    provider: proxy.provider,
    port: proxy.port,
    unit: proxyUnit(agent, type),
    paths: type.providers[proxy.provider]?.paths ?? [],
    maxBodyBytes: type.max_body_bytes,
  };
}

export const proxyUnit = ({ name }: Pick<ResolvedAgent, "name">, { unit }: ProxyType): string =>
  fill(unit, { name }) ?? unit;

export function proxyTypeOf({ manifest, name, version }: ResolvedAgent): ProxyType {
  const { proxy, title } = manifest;
  if (proxy && inRange(version, proxy.when)) return proxy;
  if (!proxy) throw noCapability(manifest, "proxy");
  throw new Fault("unsupported", `${name} cannot have a proxy`, {
    why: `${title} ${version} has none; versions ${proxy.when} do`,
    next: `clm registry show ${manifest.type}`,
  });
}

/** For a recorded proxy: it may have been enabled with a later version than the agent has now. */
export const recordedProxyType = (agent: ResolvedAgent): ProxyType =>
  (agent.proxy && agent.manifest.proxy) ?? proxyTypeOf(agent);

export const proxyProviders = ({ version }: ResolvedAgent, { providers }: ProxyType): string[] =>
  Object.keys(providers).filter((name) => inRange(version, providers[name]?.when ?? "*"));

export function mustServe(agent: ResolvedAgent, type: ProxyType, provider: string): void {
  const known = proxyProviders(agent, type);
  if (known.includes(provider)) return;
  const later = own(type.providers, provider)?.when;
  if (later) {
    throw new Fault("unsupported", `the proxy of ${agent.name} cannot lend ${provider}`, {
      why: `${agent.manifest.title} ${agent.version} cannot; versions ${later} can`,
      next: `clm agent proxy enable ${agent.ref} --provider ${known[0]}`,
      data: { providers: known },
    });
  }
  const { why, data } = didYouMean(provider, known, `there are ${known.join(", ")}`);
  throw new Fault("bad-input", `no proxy lends '${provider}'`, { why, data: { providers: known, ...data } });
}

/** The current port, or the first free one. `taken` are the agents' ports; `listening` excludes the proxy's own unit. */
export function proxyPort(
  { ports }: ProxyType,
  kept: number | undefined,
  taken: readonly number[],
  listening: readonly number[],
): number | undefined {
  const isFree = (port: number) => !taken.includes(port) && !listening.includes(port);
  return kept !== undefined && isFree(kept) ? kept : firstPort(ports, isFree);
}
