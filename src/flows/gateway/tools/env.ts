import { Fault } from "../../../errors.js";
import { mayUse } from "../../../gateway/keys/rights.js";
import { quote } from "../../../quote.js";
import { type Agent, agentsOf, hostAndName } from "../../../state/agents.js";
import { findGatewayKey, type GatewayKey, gatewayKeyStore } from "../../../state/gateway-keys.js";
import { didYouMean } from "../../../text/nearest.js";
import type { Session } from "../../session.js";
import { baseOf, gatewayFrom } from "../address.js";
import { defaultGatewayUrl, defaultSignProxyPort } from "../defaults.js";
import { mustBeActive } from "../keys/active.js";
import { modelFrom, noProxyHost, type ToolTarget } from "./settings.js";

export interface EnvOptions {
  url?: string | undefined;
  model?: string | undefined;
}

/** What a tool needs to know to come through the gateway with a key. */
export interface Environment {
  key: GatewayKey;
  /** Where the gateway is; a signed key's tools are told of the sign-proxy before it. */
  gateway: string;
  reached: ToolTarget;
  /** Agents that the key may use, the likeliest first. */
  models: string[];
}

/** Env: the settings with which tools use a key. The key itself is not among them: only a hash of it is kept. */
export function environmentOf(
  { configDir, hosts, env, now, ui }: Session,
  word: string,
  asked: EnvOptions,
): Environment {
  if (word.startsWith("clm_")) {
    throw new Fault("usage", "a key is never an argument", {
      why: [
        "every user of this machine can read the arguments of every process; give the key's name or its id",
        "what was typed may be in your shell's history: better replace that key",
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
  if (key.role === "read") ui.warn(`the role of ${key.name} is read: it may list models, and not talk with them`);
  const base = key.signed ? new URL(`http://127.0.0.1:${defaultSignProxyPort}`) : gateway;
  return {
    ...{ key, models },
    gateway: gateway.origin,
    reached: { base: baseOf(base), model, noProxy: noProxyHost(base, env) },
  };
}

/** One that was seen to answer before one that may, and that before one that cannot. */
function liveliness({ record: { onboarding, down, proven } }: Agent): number {
  return (onboarding.state === "ready" ? 4 : 0) + (down ? 0 : 2) + (proven ? 1 : 0);
}

function modelAmong(key: GatewayKey, all: Agent[], models: string[], asked: string | undefined): string {
  if (asked === undefined) {
    const [first] = models;
    if (first !== undefined) return first;
    throw new Fault("not-ready", `the key ${key.name} may use no agent that there is`, {
      why: [
        `it is for ${key.agents.join(", ") || "none"}`,
        "a model that an agent lends is named with --model AGENT/proxy/MODEL",
      ],
      next: "clm agent list",
    });
  }
  const model = modelFrom(asked);
  // A proxy's models are its own: only whose proxy it is can be told here.
  const [agent = "", proxied] = model.split("/proxy/");
  const meant = all.find((each) => each.ref === agent || hostAndName(each) === agent);
  const may = (isProxy: boolean) => meant && mayUse(key, { host: meant.host.name, name: meant.name, proxied: isProxy });
  if (may(proxied !== undefined)) return model;
  const notLent = may(false) && `it may use ${agent}, and not what that lends: its --agents has no ${agent}/proxy`;
  const { why, data } = didYouMean(agent, models, models.length > 0 ? `it may use ${models.join(", ")}` : []);
  throw new Fault("not-found", `the key ${key.name} may use no model called ${quote(model)}`, {
    why: notLent || why,
    next: `clm gateway env ${quote(key.name)}`,
    flag: "--model",
    data,
  });
}
