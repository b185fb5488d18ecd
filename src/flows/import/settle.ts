import { timingSafeEqual } from "node:crypto";
import { Fault } from "../../errors.js";
import type { Fleet, Host } from "../../state/hosts.js";
import type { Provider, Providers } from "../../state/providers.js";
import { ownerKey } from "../../state/secret-owner.js";
import type { ImportedSecret, Secrets } from "../../state/secrets.js";
import { own, type Row, type Taken } from "./clawrium/taken.js";

/** What is there already on clm's side. */
export interface Present {
  fleet: Fleet;
  providers: Providers;
  secrets: Pick<Secrets, "get">;
  /** Private keys by key_id. */
  keys: Record<string, string>;
}

/** What is left to be done, besides what is there already. Nothing of that is changed. */
export interface Settled {
  /** New hosts. */
  hosts: Host[];
  /** New agents on hosts that are there, by host. */
  agents: Record<string, Host["agents"]>;
  providers: Record<string, Provider>;
  secrets: ImportedSecret[];
  gone: string[];
  keys: Record<string, string>;
  rows: Row[];
  nothing: boolean;
}

/** Refuses what would replace something else of the same name; leaves out what is there. Pure. */
export function settle(taken: Taken, present: Present, inPlace: boolean): Settled {
  const there = new Set<string>();
  const hosts = taken.hosts.filter((host) => !hostThere(host, present.fleet));
  const known = taken.hosts.filter((host) => !hosts.includes(host));
  for (const { name } of known) there.add(`host ${name}`);

  const agents: Settled["agents"] = {};
  for (const { name, agents: wanted } of known) {
    const has = present.fleet.hosts.find((host) => host.name === name)?.agents ?? {};
    for (const [agent, record] of Object.entries(wanted)) {
      if (own(has, agent)) there.add(`agent ${name}/${agent}`);
      else agents[name] = { ...agents[name], [agent]: record };
    }
  }

  const providers: Settled["providers"] = {};
  for (const [name, provider] of Object.entries(taken.providers)) {
    if (providerThere(name, provider, taken, present)) there.add(`provider ${name}`);
    else providers[name] = provider;
  }

  const secrets = taken.secrets.filter((secret) => {
    const { instance } = secret;
    // Clawrium knows no gateway.
    if ("gateway" in instance) return false;
    const title = "provider" in instance ? `provider ${instance.provider}` : `agent ${instance.host}/${instance.agent}`;
    return !there.has(title) && !secretThere(secret, present);
  });
  const keys = Object.fromEntries(Object.entries(taken.keys).filter(([id, text]) => !keyThere(id, text, present)));
  const gone = inPlace ? taken.gone : [];
  const counts = [hosts, secrets, gone, ...[agents, providers, keys].map(Object.keys)];
  return {
    ...{ hosts, agents, providers, secrets, gone, keys },
    rows: taken.rows.map((row) =>
      there.has(`${row.what} ${row.to}`) ? { ...row, remark: "is there already; left as it is" } : row,
    ),
    nothing: counts.every(({ length }) => length === 0),
  };
}

/** The same address under the same name is the same host, whatever else clm has learned about it since. */
function hostThere({ name, address, port = 22 }: Host, { hosts }: Fleet): boolean {
  const found = hosts.find((host) => host.name === name);
  if (!found) return false;
  if (found.address === address && (found.port ?? 22) === port) return true;
  throw taken(`there is a host called ${name} already, at ${found.address}`, {
    why: `Clawrium's ${name} is at ${address}; another name can be given to it`,
    next: [`clm import clawrium --host ${name}=NAME`, `clm host show ${name}`],
  });
}

function providerThere(name: string, wanted: Provider, { secrets }: Taken, present: Present): boolean {
  const found = own(present.providers.providers, name);
  if (!found) return false;
  const fields = (provider: Provider) => JSON.stringify(Object.entries(provider.fields).sort());
  const ofIt = secrets.filter(({ instance }) => "provider" in instance && instance.provider === name);
  const same =
    found.type === wanted.type &&
    found.model === wanted.model &&
    fields(found) === fields(wanted) &&
    ofIt.every((secret) => isSame(secret, present) === true);
  if (same) return true;
  throw taken(`there is a provider called ${name} already, and it is another one`, {
    why: "its type, its answers, its model or its key are not those of Clawrium's",
    next: [`clm provider show ${name}`, `clm provider remove ${name}`],
  });
}

function secretThere(secret: ImportedSecret, present: Present): boolean {
  const same = isSame(secret, present);
  if (same !== false) return same === true;
  throw taken(`${secret.name} of ${ownerKey(secret.instance)} is there already, and it is another one`, {
    why: "clm keeps a secret for something that is not in its fleet",
  });
}

/** Nothing when there is no such secret. */
function isSame({ instance, name, value }: ImportedSecret, { secrets }: Present): boolean | undefined {
  const found = secrets.get(instance, name);
  if (!found) return undefined;
  const [one, other] = [found, value].map((secret) => Buffer.from(secret.reveal()));
  return one !== undefined && other !== undefined && one.length === other.length && timingSafeEqual(one, other);
}

function keyThere(id: string, text: string, { keys }: Present): boolean {
  const found = own(keys, id);
  if (found === undefined || found === text) return found !== undefined;
  throw taken(`there is another key for ${id} already`, { why: "Clawrium's would replace it" });
}

const taken = (what: string, details: { why: string; next?: string[] }): Fault =>
  new Fault("already-exists", what, { ...details, why: [details.why, "nothing was changed"] });
