import { fill } from "../../../agents/files/template.js";
import { useOf } from "../../../agents/manifest/secret-names.js";
import { inRange } from "../../../agents/manifest/versions.js";
import { pathsFor } from "../../../agents/plan/resolved-agent.js";
import { Fault } from "../../../errors.js";
import type { AgentRecord } from "../../../state/agent.js";
import type { SecretEntry } from "../../../state/clawrium-secrets.js";
import type { ImportedSecret } from "../../../state/secrets.js";
import { takeChannels } from "./channels.js";
import { takeIntegrations } from "./integrations.js";
import { wordsFor } from "./names.js";
import { onboardingFrom } from "./onboarding.js";
import type { TakenProviders } from "./providers.js";
import { flawOf } from "./read.js";
import { type OldAgent, type OldHost, oldAgent } from "./shapes.js";
import { adopted, own, type Row, type Terms } from "./taken.js";

export interface TakenAgent {
  name: string;
  record: AgentRecord;
  secrets: ImportedSecret[];
  gone: string[];
}

interface Place {
  host: OldHost;
  /** Its name from now on. */
  name: string;
}

// What Clawrium and useradd both take. It may hold a `_`, which clm would not give a new agent.
const userName = /^[a-z][a-z0-9_-]{0,31}$/;

/** An agent as clm would have it, and the rows that tell of it; only rows when it is none of ours. */
export function takeAgent(
  terms: Terms,
  place: Place,
  key: string,
  raw: unknown,
  providers: TakenProviders,
): { agent?: TakenAgent; rows: Row[] } {
  const from = `${wordsFor(place.host)[0]}/${key}`;
  const left = (remark: string) => ({ rows: [{ what: "agent", from, remark: `not taken over: ${remark}` } as const] });
  const found = oldAgent.safeParse(raw);
  if (!found.success) return left(flawOf(found.error.issues, "it"));
  const old = { ...found.data, version: found.data.version.replace(/^v/, "") };
  const { manifest } = terms;
  if (old.type !== manifest.type) return left(`${old.type} is not looked after`);
  if (old.status !== "installed") return left(`its installation ${old.status === "failed" ? "failed" : "never ended"}`);
  const user = old.agent_name ?? key;
  if (!userName.test(user)) return left(`'${user}' cannot be a user's name`);
  if (!own(manifest.versions, old.version)) throw notPinned(manifest.type, old.version, from);

  const title = `${place.name}/${user}`;
  const buckets = bucketsOf(terms, place, [key, user]);
  const channels = takeChannels(terms.old, manifest, old, title);
  const integrations = takeIntegrations(terms.old, manifest, old, title);
  const { secrets, dropped } = ownSecrets(terms, buckets);
  const all = { ...integrations.secrets, ...secrets, ...channels.secrets };
  const models = modelsOf(terms, old, providers);
  const keyName = manifest.api.secret;
  const remarks = [
    ...models.remarks,
    ...(own(all, keyName) ? [] : [`its API key is missing: clm agent rotate-key ${title}`]),
    ...(dropped.length > 0 ? [`without ${dropped.join(", ")}`] : []),
  ];
  const instance = { host: place.name, type: manifest.type, agent: user };
  const target = Object.values(instance).join(":");
  return {
    agent: {
      name: user,
      record: {
        type: manifest.type,
        version: old.version,
        status: "installed",
        user,
        home: pathsFor(manifest, user).home,
        unit: fill(manifest.unit.name, { name: user }) ?? "",
        port: old.config?.api_server?.port ?? manifest.api.port.first,
        ...(old.installed_at && { installed_at: old.installed_at }),
        ...models.choice,
        ...(Object.keys(channels.channels).length > 0 && { channels: channels.channels }),
        ...(Object.keys(integrations.mcp).length > 0 && { mcp: integrations.mcp }),
        onboarding: onboardingFrom(old, models.choice.provider !== undefined),
      },
      secrets: Object.entries(all).map(([name, kept]) => adopted(instance, name, kept, terms.now)),
      gone: [...Object.keys(buckets).filter((each) => each !== target), ...channels.gone, ...integrations.gone],
    },
    rows: [
      { what: "agent", from, to: title, ...(remarks.length > 0 && { remark: remarks.join("; ") }) },
      ...channels.rows,
      ...integrations.rows,
    ],
  };
}

/** Its secrets stood under the host's address, later under its key_id; what stands under the latter is newer. */
function bucketsOf({ old, manifest }: Terms, { host, name }: Place, names: string[]) {
  const newestFirst = new Set([host.key_id, ...wordsFor(host), name].filter((word) => word !== undefined));
  const words = [...newestFirst].reverse();
  const keys = words.flatMap((word) => names.map((each) => `${word}:${manifest.type}:${each}`));
  const found = [...new Set(keys)].map((key) => [key, own(old.secrets, key)] as const);
  return Object.fromEntries(
    found.filter((each): each is [string, Record<string, SecretEntry>] => each[1] !== undefined),
  );
}

function ownSecrets({ manifest }: Terms, buckets: Record<string, Record<string, SecretEntry>>) {
  const secrets: Record<string, SecretEntry> = {};
  const dropped = new Set<string>();
  for (const [name, kept] of Object.values(buckets).flatMap(Object.entries<SecretEntry>)) {
    const isApiKey = name === manifest.api.secret;
    const fits = isApiKey ? /^[0-9a-f]{64}$/.test(kept.value) : useOf(manifest, name).kind !== "own";
    if (fits && /^[A-Za-z][A-Za-z0-9_]*$/.test(name)) secrets[name] = kept;
    else if (!isApiKey) dropped.add(name);
  }
  return { secrets, dropped: [...dropped] };
}

type Choice = Pick<AgentRecord, "provider" | "model" | "auxiliary">;

/** Which models answer for it. Its first days knew one provider; later there is one for each role. */
function modelsOf(
  { manifest }: Terms,
  old: OldAgent,
  providers: TakenProviders,
): { choice: Choice; remarks: string[] } {
  const remarks: string[] = [];
  const chosen = (name: string, model: string | undefined) => {
    const taken = providers.byOldName.get(name);
    if (!taken) remarks.push(`without provider ${name}`);
    return taken && { provider: taken.name, ...(model && model !== taken.provider.model && { model }) };
  };
  const roleOf = ({ role }: { role?: string | undefined }) => role ?? "primary";
  const primary = old.providers.find((each) => roleOf(each) === "primary");
  const name = primary?.name ?? old.config?.provider?.name ?? old.onboarding?.stages.providers?.provider_id;
  const model = primary?.model ?? (primary ? undefined : old.config?.provider?.default_model);
  const main = name ? chosen(name, model) : undefined;
  const tasks = old.providers.filter((each) => roleOf(each) !== "primary");
  const auxiliary = Object.fromEntries(
    tasks.flatMap((each) => {
      const task = manifest.auxiliary.find((known) => known.name === each.role && inRange(old.version, known.when));
      const choice = task && chosen(each.name, each.model);
      if (!task) remarks.push(`without a model for ${each.role}`);
      return task && choice ? [[task.name, choice]] : [];
    }),
  );
  return { choice: { ...main, ...(Object.keys(auxiliary).length > 0 && { auxiliary }) }, remarks };
}

const notPinned = (type: string, version: string, agent: string): Fault =>
  new Fault("not-found", `${type} ${version} of ${agent} is not pinned`, {
    why: "clm looks after versions whose installer it knows; nothing was changed",
    next: `clm registry pin ${type} ${version}`,
    data: { version, agent },
  });
