import { fill } from "../../../agents/files/template.js";
import { useOf } from "../../../agents/manifest/secret-names.js";
import { inRange } from "../../../agents/manifest/versions.js";
import { pathsFor } from "../../../agents/plan/resolved-agent.js";
import { Fault } from "../../../errors.js";
import type { AgentRecord, OnboardingState } from "../../../state/agent.js";
import type { SecretEntry } from "../../../state/clawrium-secrets.js";
import type { ImportedSecret } from "../../../state/secrets.js";
import { defined } from "../../../text/defined.js";
import { own } from "../../../text/own-property.js";
import { type Attachments, attachmentsOf } from "./attachments.js";
import { type Conversion, converted, type ImportRow, importedSecret, skipped, without } from "./conversion.js";
import type { ConvertedProviders } from "./convert-providers.js";
import { wordsFor } from "./names.js";
import { flawOf } from "./read-fleet.js";
import { type OldAgent, type OldHost, oldAgent } from "./shapes.js";

interface ConvertedAgent {
  name: string;
  record: AgentRecord;
  secrets: ImportedSecret[];
  gone: string[];
}

interface OldPlace {
  host: OldHost;
  /** The host's new name. */
  name: string;
  /** The agent's name in Clawrium's list. */
  key: string;
}

// Accepted by Clawrium and useradd. It may contain a `_`, which clm would not give a new agent.
const userName = /^[a-z][a-z0-9_-]{0,31}$/;

/** The agent in clm's format, and rows about it; only rows when it is skipped. */
export function convertAgent(
  conversion: Conversion,
  place: OldPlace,
  raw: unknown,
  providers: ConvertedProviders,
): { agent?: ConvertedAgent; rows: ImportRow[] } {
  const from = `${wordsFor(place.host)[0]}/${place.key}`;
  const skip = (reason: string): { rows: ImportRow[] } => ({ rows: [{ what: "agent", from, ...skipped(reason) }] });
  const found = oldAgent.safeParse(raw);
  if (!found.success) return skip(flawOf(found.error.issues, "it"));
  const old = { ...found.data, version: found.data.version.replace(/^v/, "") };
  const { manifest } = conversion;
  if (old.type !== manifest.type) return skip(`clm does not manage ${old.type}`);
  if (old.status !== "installed") return skip(`its installation ${old.status === "failed" ? "failed" : "never ended"}`);
  const user = old.agent_name ?? place.key;
  if (!userName.test(user)) return skip(`'${user}' cannot be a user's name`);
  if (!own(manifest.versions, old.version)) throw notPinned(manifest.type, old.version, from);

  const ref = `${place.name}/${user}`;
  const buckets = bucketsOf(conversion, place, user);
  const attachments = attachmentsOf(conversion.old, manifest, old, ref);
  const { secrets, dropped } = ownSecrets(conversion, buckets, attachments);
  const models = modelsOf(conversion, old, providers);
  const noKey = own(secrets, manifest.api.secret ?? "") ? [] : [`its API key is missing: clm agent rotate-key ${ref}`];
  const owner = { host: place.name, type: manifest.type, agent: user };
  const target = Object.values(owner).join(":");
  return {
    agent: {
      name: user,
      record: defined({
        type: manifest.type,
        version: old.version,
        status: "installed" as const,
        user,
        home: pathsFor(manifest, user).home,
        unit: fill(manifest.unit.name, { name: user }) ?? "",
        port: old.config?.api_server?.port ?? manifest.api.port.first,
        installed_at: old.installed_at || undefined,
        ...models.choice,
        channels: unlessEmpty(attachments.channels),
        mcp: unlessEmpty(attachments.mcp),
        onboarding: onboardingFrom(old, models.choice.provider !== undefined),
      }),
      secrets: Object.entries(secrets).map(([name, entry]) => importedSecret(owner, name, entry, conversion.now)),
      gone: [...Object.keys(buckets).filter((each) => each !== target), ...attachments.gone],
    },
    rows: [
      { what: "agent", from, ...converted(ref, [...models.remarks, ...noKey, ...without(dropped)]) },
      ...attachments.rows,
    ],
  };
}

const unlessEmpty = <T extends object>(value: T): T | undefined => (Object.keys(value).length > 0 ? value : undefined);

type Bucket = Record<string, SecretEntry>;

/** An agent's secrets were stored under the host's address, later under its key_id; the newest come last. */
function bucketsOf({ old, manifest }: Conversion, { host, name, key }: OldPlace, user: string): Record<string, Bucket> {
  const newestFirst = new Set([host.key_id, ...wordsFor(host), name].filter((word) => word !== undefined));
  const words = [...newestFirst].reverse();
  const keys = words.flatMap((word) => [key, user].map((each) => `${word}:${manifest.type}:${each}`));
  return Object.fromEntries(
    keys.flatMap((each): [string, Bucket][] => {
      const bucket = own(old.secrets, each);
      return bucket ? [[each, bucket]] : [];
    }),
  );
}

/** Of several with one name, a channel's wins over the agent's own, and that over an integration's. */
function ownSecrets({ manifest }: Conversion, buckets: Record<string, Bucket>, attachments: Attachments) {
  const secrets: Bucket = { ...attachments.integrationSecrets };
  const dropped = new Set<string>();
  for (const [name, entry] of Object.values(buckets).flatMap(Object.entries<SecretEntry>)) {
    const isApiKey = name === manifest.api.secret;
    const fits = isApiKey ? /^[0-9a-f]{64}$/.test(entry.value) : useOf(manifest, name).kind !== "own";
    if (fits && /^[A-Za-z][A-Za-z0-9_]*$/.test(name)) secrets[name] = entry;
    else if (!isApiKey) dropped.add(name);
  }
  return { secrets: { ...secrets, ...attachments.channelSecrets }, dropped: [...dropped] };
}

/** Early versions of Clawrium have one provider per agent, later ones one per role. */
function modelsOf(
  { manifest }: Conversion,
  old: OldAgent,
  providers: ConvertedProviders,
): { choice: Pick<AgentRecord, "provider" | "model" | "auxiliary">; remarks: string[] } {
  const remarks: string[] = [];
  const choose = (name: string, model: string | undefined) => {
    const found = providers.get(name);
    if (!found) remarks.push(`without provider ${name}`);
    return found && { provider: found.name, ...(model && model !== found.provider.model && { model }) };
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

const notPinned = (type: string, version: string, agent: string): Fault =>
  new Fault("not-found", `${type} ${version} of ${agent} is not pinned`, {
    why: "clm manages versions whose installer it knows; nothing was changed",
    next: `clm registry pin ${type} ${version}`,
    data: { version, agent },
  });
