import { Fault } from "../../errors.js";
import { mayUse } from "../../gateway/keys/rights.js";
import { quote } from "../../quote.js";
import { type Agent, agentsOf, hostAndName } from "../../state/agents.js";
import { findGatewayKey, type GatewayKey, gatewayKeyStore } from "../../state/gateway-keys.js";
import { didYouMean } from "../../text/nearest.js";
import type { Session } from "../session.js";
import { mustBeActive } from "./active-key.js";
import { baseOf, gatewayFrom } from "./address.js";
import { defaultGatewayUrl, defaultSignProxyPort } from "./defaults.js";

export interface EnvOptions {
  url?: string | undefined;
  model?: string | undefined;
}

export interface ToolTarget {
  /** With `/v1`. */
  base: string;
  model: string;
  /** A host that must not be reached through the HTTP proxy that this machine uses. */
  noProxy?: string | undefined;
}

export interface Environment {
  key: GatewayKey;
  gateway: string;
  /** The gateway, or for a signed key the sign-proxy in front of it. */
  target: ToolTarget;
  /** Agents that the key may use, the likeliest first. */
  models: string[];
}

/** What tools need to use a key through the gateway. Not the key: only its hash is stored. */
export function environmentOf(
  { configDir, hosts, env, now, ui }: Session,
  word: string,
  asked: EnvOptions,
): Environment {
  if (word.startsWith("clm_")) {
    throw new Fault("usage", "a key is never an argument", {
      why: [
        "every user of this machine can read the arguments of every process; give the key's name or its id",
        "it may be in your shell's history now: rotate that key",
      ],
      next: "clm gateway key list",
    });
  }
  const gateway = gatewayFrom("--url", asked.url ?? defaultGatewayUrl);
  const key = findGatewayKey(gatewayKeyStore(configDir).read(), word);
  mustBeActive(key, now());
  const all = agentsOf(hosts.read()).sort((a, b) => liveliness(b) - liveliness(a));
  const models = all.filter(({ name, host }) => mayUse(key, { name, host: host.name })).map((agent) => agent.ref);
  const model = modelAmong(key, all, models, asked.model);
  if (key.role === "read") ui.warn(`${key.name} has the role read: it may list models, but not use them`);
  const base = key.signed ? new URL(`http://127.0.0.1:${defaultSignProxyPort}`) : gateway;
  const target = { base: baseOf(base), model, noProxy: noProxyHost(base, env) };
  return { key, gateway: gateway.origin, target, models };
}

/** Higher for an agent that has answered before than for one that has not, and lowest for one that is down. */
function liveliness({ record: { onboarding, down, proven } }: Agent): number {
  return (onboarding.state === "ready" ? 4 : 0) + (down ? 0 : 2) + (proven ? 1 : 0);
}

function modelAmong(key: GatewayKey, all: Agent[], models: string[], asked: string | undefined): string {
  if (asked === undefined) {
    const [first] = models;
    if (first !== undefined) return first;
    throw new Fault("not-ready", `the key ${key.name} may use none of the agents`, {
      why: [
        `its --agents is ${key.agents.join(", ") || "empty"}`,
        "select a model of an agent's proxy with --model AGENT/proxy/MODEL",
      ],
      next: "clm agent list",
    });
  }
  const model = modelFrom(asked);
  // The models of a proxy are not known here, only which agent has it.
  const [agent = "", proxied] = model.split("/proxy/");
  const meant = all.find((each) => each.ref === agent || hostAndName(each) === agent);
  const may = (isProxy: boolean) => meant && mayUse(key, { host: meant.host.name, name: meant.name, proxied: isProxy });
  if (may(proxied !== undefined)) return model;
  const noProxy = may(false) && `it may use ${agent}, but not its proxy: its --agents has no ${agent}/proxy`;
  const { why, data } = didYouMean(agent, models, models.length > 0 ? `it may use ${models.join(", ")}` : []);
  throw new Fault("not-found", `the key ${key.name} may use no model called ${quote(model)}`, {
    why: noProxy || why,
    next: `clm gateway env ${quote(key.name)}`,
    flag: "--model",
    data,
  });
}

/** Only names that need no quoting in a tool's settings. */
export function modelFrom(text: string): string {
  if (/^[\x21-\x7e]{1,256}$/.test(text)) return text;
  throw new Fault("bad-input", "that is not a model's name", {
    why: "it has at most 256 letters, digits and signs, without spaces",
    data: { flag: "--model" },
  });
}

/** The gateway's host, when it is on this machine and programs here use an HTTP proxy. */
export function noProxyHost(base: URL, env: NodeJS.ProcessEnv): string | undefined {
  const proxied = Object.entries(env).some(([name, value]) => /^(http|all)_proxy$/i.test(name) && value);
  return proxied && base.protocol === "http:" ? base.hostname : undefined;
}
