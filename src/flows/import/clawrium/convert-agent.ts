import { fill } from "../../../agents/files/template.js";
import type { Manifest } from "../../../agents/manifest/manifest.js";
import { useOf } from "../../../agents/manifest/secret-names.js";
import { inRange } from "../../../agents/manifest/versions.js";
import { pathsFor } from "../../../agents/plan/resolved-agent.js";
import { Fault } from "../../../errors.js";
import type { AgentRecord, OnboardingState } from "../../../state/agent.js";
import type { SecretEntry } from "../../../state/clawrium-secrets.js";
import type { Host } from "../../../state/hosts.js";
import { ownerKey } from "../../../state/secret-owner.js";
import { defined } from "../../../text/defined.js";
import { own } from "../../../text/own-property.js";
import { attachmentsOf } from "./attachments.js";
import { addRow, addSecret, type Conversion, Skipped, without } from "./conversion.js";
import type { ProviderNames } from "./convert-providers.js";
import { wordsFor } from "./names.js";
import { flawOf } from "./read-fleet.js";
import { type OldAgent, type OldHost, oldAgent } from "./shapes.js";

interface Place {
  old: OldHost;
  /** What the host becomes. */
  host: Host;
  /** The agent's name in Clawrium's list. */
  key: string;
}

// Accepted by Clawrium and useradd. It may contain a `_`, which clm would not give a new agent.
const userName = /^[a-z][a-z0-9_-]{0,31}$/;

export function convertAgent(conversion: Conversion, place: Place, raw: unknown, providers: ProviderNames): void {
  const { manifest, fleet } = conversion;
  const from = `${wordsFor(place.old)[0]}/${place.key}`;
  const converted = addRow(fleet, "agent", from, () => {
    const old = installedAgent(manifest, place.key, raw);
    const { version } = old;
    if (!own(manifest.versions, version)) {
      throw new Fault("not-found", `${manifest.type} ${version} of ${from} is not pinned`, {
        why: "clm manages versions whose installer it knows; nothing was changed",
        next: `clm registry pin ${manifest.type} ${version}`,
        data: { version, agent: from },
      });
    }
    const ref = `${place.host.name}/${old.user}`;
    const buckets = bucketsOf(conversion, place, old.user);
    const { secrets, dropped } = ownSecrets(manifest, buckets);
    const { choice, remarks } = modelsOf(conversion, old, providers);
    if (!own(secrets, manifest.api.secret ?? "")) remarks.push(`its API key is missing: clm agent rotate-key ${ref}`);
    return { old, buckets, secrets, choice, to: ref, remarks: [...remarks, ...without(dropped)] };
  });
  if (!converted) return;
  const { old, buckets, secrets, choice, to: ref } = converted;
  const { user } = old;
  const owner = { host: place.host.name, type: manifest.type, agent: user };
  fleet.gone.push(...Object.keys(buckets).filter((key) => key !== ownerKey(owner)));
  const attachments = attachmentsOf(conversion, old, ref);
  // Of several with one name, a channel's wins over the agent's own, and that over an integration's.
  const all = { ...attachments.integrationSecrets, ...secrets, ...attachments.channelSecrets };
  for (const [name, entry] of Object.entries(all)) addSecret(conversion, owner, name, entry);
  place.host.agents[user] = defined({
    type: manifest.type,
    version: old.version,
    status: "installed" as const,
    user,
    home: pathsFor(manifest, user).home,
    unit: fill(manifest.unit.name, { name: user }) ?? "",
    port: old.config?.api_server?.port ?? manifest.api.port.first,
    installed_at: old.installed_at || undefined,
    ...choice,
    channels: unlessEmpty(attachments.channels),
    mcp: unlessEmpty(attachments.mcp),
    onboarding: onboardingFrom(old, choice.provider !== undefined),
  });
}

/** Checks an agent and adds its user. */
function installedAgent({ type }: Manifest, key: string, raw: unknown): OldAgent & { user: string } {
  const { data: old, error } = oldAgent.safeParse(raw);
  if (!old) throw new Skipped(flawOf(error.issues, "it"));
  const user = old.agent_name ?? key;
  if (old.type !== type) throw new Skipped(`clm does not manage ${old.type}`);
  if (old.status !== "installed") {
    throw new Skipped(`its installation ${old.status === "failed" ? "failed" : "never ended"}`);
  }
  if (!userName.test(user)) throw new Skipped(`'${user}' cannot be a user's name`);
  return { ...old, version: old.version.replace(/^v/, ""), user };
}

const unlessEmpty = <T extends object>(value: T): T | undefined => (Object.keys(value).length > 0 ? value : undefined);

type Bucket = Record<string, SecretEntry>;

/** An agent's secrets were stored under the host's address, later under its key_id; the newest come last. */
function bucketsOf({ old, manifest }: Conversion, place: Place, user: string): Record<string, Bucket> {
  const newestFirst = new Set([place.old.key_id ?? "", ...wordsFor(place.old), place.host.name]);
  const buckets: Record<string, Bucket> = {};
  for (const word of [...newestFirst].reverse()) {
    for (const name of [place.key, user]) {
      const key = `${word}:${manifest.type}:${name}`;
      const bucket = own(old.secrets, key);
      if (bucket) buckets[key] = bucket;
    }
  }
  return buckets;
}

function ownSecrets(manifest: Manifest, buckets: Record<string, Bucket>) {
  const secrets: Bucket = {};
  const dropped = new Set<string>();
  for (const [name, entry] of Object.values(buckets).flatMap(Object.entries<SecretEntry>)) {
    const isApiKey = name === manifest.api.secret;
    const fits = isApiKey ? /^[0-9a-f]{64}$/.test(entry.value) : useOf(manifest, name).kind !== "own";
    if (fits && /^[A-Za-z][A-Za-z0-9_]*$/.test(name)) secrets[name] = entry;
    else if (!isApiKey) dropped.add(name);
  }
  return { secrets, dropped: [...dropped] };
}

/** Early versions of Clawrium have one provider per agent, later ones one per role. */
function modelsOf(
  { manifest, fleet }: Conversion,
  old: OldAgent,
  providers: ProviderNames,
): { choice: Pick<AgentRecord, "provider" | "model" | "auxiliary">; remarks: string[] } {
  const remarks: string[] = [];
  const choose = (name: string, model: string | undefined) => {
    const provider = providers.get(name);
    if (!provider) remarks.push(`without provider ${name}`);
    return provider && { provider, ...(model && model !== fleet.providers[provider]?.model && { model }) };
  };
  const isPrimary = ({ role = "primary" }: OldAgent["providers"][number]) => role === "primary";
  const primary = old.providers.find(isPrimary);
  const name = primary?.name ?? old.config?.provider?.name ?? old.onboarding?.stages.providers?.provider_id;
  const model = primary?.model ?? (primary ? undefined : old.config?.provider?.default_model);
  const main = name ? choose(name, model) : undefined;
  const auxiliary: NonNullable<AgentRecord["auxiliary"]> = {};
  for (const each of old.providers.filter((provider) => !isPrimary(provider))) {
    const task = manifest.auxiliary.find((known) => known.name === each.role && inRange(old.version, known.when));
    const choice = task && choose(each.name, each.model);
    if (!task) remarks.push(`without a model for ${each.role}`);
    if (task && choice) auxiliary[task.name] = choice;
  }
  return { choice: defined({ ...main, auxiliary: unlessEmpty(auxiliary) }), remarks };
}

const order: OnboardingState[] = ["providers", "identity", "channels", "validate"];

/** Never `ready`: Clawrium never takes that back, and the host has not been checked yet. */
export function onboardingFrom({ onboarding }: OldAgent, hasProvider: boolean): AgentRecord["onboarding"] {
  const old = onboarding?.state ?? "pending";
  const reached = old === "ready" ? "validate" : (order.find((state) => state === old) ?? "providers");
  const state = hasProvider ? reached : "providers";
  const stages = order.slice(0, order.indexOf(state)).flatMap((name) => {
    const { status, completed_at } = onboarding?.stages[name] ?? {};
    const result = status === "complete" || status === "skipped" ? status : undefined;
    return result ? [[name, { result, at: completed_at ?? "" }]] : [];
  });
  return { state, stages: Object.fromEntries(stages) };
}
