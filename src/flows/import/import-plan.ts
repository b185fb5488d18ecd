import { timingSafeEqual } from "node:crypto";
import { Fault } from "../../errors.js";
import type { Fleet, Host } from "../../state/hosts.js";
import type { Provider } from "../../state/providers.js";
import { ownerKey } from "../../state/secret-owner.js";
import type { ImportedSecret } from "../../state/secrets.js";
import { own } from "../../text/own-property.js";
import type { Session } from "../session.js";
import type { ConvertedFleet } from "./clawrium/conversion.js";
import { keysIn, type Source } from "./source.js";

/** What an import adds. Everything that exists is left as it is. */
export interface ImportPlan extends ConvertedFleet {
  /** New agents on existing hosts, by host. */
  agents: Record<string, Host["agents"]>;
  empty: boolean;
}

type Present = ReturnType<typeof presentIn>;

/** A file that is still Clawrium's counts as empty. */
const presentIn = ({ configDir, hosts, providers, secrets }: Session, { foreign }: Source) => ({
  fleet: foreign["hosts.json"] === undefined ? hosts.read() : { hosts: [] },
  providers: foreign["providers.json"] === undefined ? providers.read() : { providers: {} },
  secrets,
  keys: keysIn(configDir),
});

/** Leaves out what exists; throws when something else has the same name. */
export function planImport(session: Session, fleet: ConvertedFleet, source: Source): ImportPlan {
  const present = presentIn(session, source);
  const existing = new Set<string>();
  const hosts = fleet.hosts.filter((host) => !hostExists(host, present.fleet));
  const agents: ImportPlan["agents"] = {};
  for (const { name, agents: imported } of fleet.hosts.filter((host) => !hosts.includes(host))) {
    existing.add(`host ${name}`);
    const has = present.fleet.hosts.find((host) => host.name === name)?.agents ?? {};
    for (const [agent, record] of Object.entries(imported)) {
      if (own(has, agent)) existing.add(`agent ${name}/${agent}`);
      else agents[name] = { ...agents[name], [agent]: record };
    }
  }
  const providers: ImportPlan["providers"] = {};
  for (const [name, provider] of Object.entries(fleet.providers)) {
    if (providerExists(name, provider, fleet, present)) existing.add(`provider ${name}`);
    else providers[name] = provider;
  }
  const secrets = fleet.secrets.filter((secret) => {
    const { instance } = secret;
    // Clawrium has no gateway.
    if ("gateway" in instance) return false;
    const owner = "provider" in instance ? `provider ${instance.provider}` : `agent ${instance.host}/${instance.agent}`;
    return !existing.has(owner) && !secretExists(secret, present);
  });
  const keys = Object.fromEntries(Object.entries(fleet.keys).filter(([id, text]) => !keyExists(id, text, present)));
  const gone = source.inPlace ? fleet.gone : [];
  const rows = fleet.rows.map((row) =>
    existing.has(`${row.what} ${row.to}`) ? { ...row, remark: "exists already; left as it is" } : row,
  );
  const added = [hosts, secrets, gone, ...[agents, providers, keys].map(Object.keys)];
  return { hosts, agents, providers, secrets, gone, keys, rows, empty: added.every(({ length }) => length === 0) };
}

/** The same name and address mean the same host, whatever else clm has recorded about it since. */
function hostExists({ name, address, port = 22 }: Host, { hosts }: Fleet): boolean {
  const found = hosts.find((host) => host.name === name);
  if (!found) return false;
  if (found.address === address && (found.port ?? 22) === port) return true;
  throw taken(`a host called ${name} exists already, at ${found.address}`, {
    why: `Clawrium's ${name} is at ${address}; give it another name`,
    next: [`clm import clawrium --host ${name}=NAME`, `clm host show ${name}`],
  });
}

function providerExists(name: string, imported: Provider, { secrets }: ConvertedFleet, present: Present): boolean {
  const found = own(present.providers.providers, name);
  if (!found) return false;
  const identity = ({ type, model, fields }: Provider) => JSON.stringify([type, model, Object.entries(fields).sort()]);
  const ownSecrets = secrets.filter(({ instance }) => "provider" in instance && instance.provider === name);
  if (identity(found) === identity(imported) && ownSecrets.every((secret) => isSame(secret, present) === true))
    return true;
  throw taken(`another provider called ${name} exists already`, {
    why: "its type, fields, model or key differ from Clawrium's",
    next: [`clm provider show ${name}`, `clm provider remove ${name}`],
  });
}

function secretExists(secret: ImportedSecret, present: Present): boolean {
  const same = isSame(secret, present);
  if (same !== false) return same === true;
  throw taken(`another ${secret.name} of ${ownerKey(secret.instance)} exists already`, {
    why: "clm has a secret for something that is not in its fleet",
  });
}

/** Undefined when there is no such secret. */
function isSame({ instance, name, value }: ImportedSecret, { secrets }: Present): boolean | undefined {
  const found = secrets.get(instance, name);
  if (!found) return undefined;
  const [one, other] = [Buffer.from(found.reveal()), Buffer.from(value.reveal())];
  return one.length === other.length && timingSafeEqual(one, other);
}

function keyExists(id: string, text: string, { keys }: Present): boolean {
  const found = own(keys, id);
  if (found === undefined || found === text) return found !== undefined;
  throw taken(`another key for ${id} exists already`, { why: "Clawrium's would replace it" });
}

const taken = (what: string, details: { why: string; next?: string[] }): Fault =>
  new Fault("already-exists", what, { ...details, why: [details.why, "nothing was changed"] });
