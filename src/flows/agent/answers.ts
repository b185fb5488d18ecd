import type { Values } from "../../agents/manifest/fields.js";
import type { Field } from "../../agents/manifest/manifest.js";
import { needsProvider } from "../../agents/manifest/registry.js";
import { extraNames } from "../../agents/manifest/secret-names.js";
import type { Answers, ModelChoice, ResolvedAgent } from "../../agents/plan/resolved-agent.js";
import { Fault } from "../../errors.js";
import type { Secret } from "../../secret.js";
import type { AgentRecord } from "../../state/agent.js";
import { own } from "../../text/own-property.js";
import { providerValues } from "../provider/values.js";
import type { Session } from "../session.js";
import { apiKeyOf, nextName } from "./api-key.js";
import { missingProviders, missingProvidersFault, noProvider } from "./missing-providers.js";
import { uploadsFor } from "./uploads.js";

/** Changes to an agent's secrets, by name in secrets.json; undefined removes one. */
export type NewSecrets = Record<string, Secret | undefined>;

export async function answersFor(
  session: Session,
  agent: ResolvedAgent,
  record: AgentRecord,
  fresh: NewSecrets = {},
): Promise<{ answers: Answers; keyPending: boolean }> {
  const { manifest, host } = agent;
  const instance = { host, type: manifest.type, agent: agent.name };
  const { secret: keyName } = manifest.api;
  const given = keyName === undefined ? undefined : fresh[keyName];
  const keyRef = keyName === undefined ? undefined : { instance, name: keyName, ref: agent.ref };
  const { key, pending } = given ? { key: given, pending: true } : apiKeyOf(session, keyRef);
  const secret = (name: string): Secret | undefined => {
    const found = Object.hasOwn(fresh, name) ? fresh[name] : session.secrets.get(instance, name);
    if (found) session.ui.hide(found);
    return found;
  };
  const choose = (choice: { provider: string; model?: string | undefined }) => modelChoice(session, agent, choice);
  if (record.provider === undefined && needsProvider(manifest)) throw unchosenProvider(session, agent);
  const gone = missingProviders(record, session.providers.read());
  if (gone.length > 0) throw missingProvidersFault(agent, gone);

  const keys = keyName === undefined ? [] : [keyName, nextName(keyName)];
  const names = new Set([...session.secrets.names(instance), ...Object.keys(fresh)]);
  const ownNames = [...names].filter((name) => !keys.includes(name));
  const { provider, model, channels, mcp, settings = {} } = record;
  // One after the other: each may prompt for a secret.
  const main = provider === undefined ? undefined : await choose({ provider, model });
  const fallbacks: ModelChoice[] = [];
  for (const choice of record.fallbacks ?? []) fallbacks.push(await choose(choice));
  const auxiliary: [string, ModelChoice][] = [];
  for (const [task, choice] of Object.entries(record.auxiliary ?? {})) auxiliary.push([task, await choose(choice)]);
  const answers = {
    apiKey: key,
    ...(main && { model: main }),
    fallbacks,
    auxiliary: Object.fromEntries(auxiliary),
    channels: mapped(channels, (fields, name) => withSecrets(fields, fieldsOf(manifest.channels, name), secret)),
    mcp: mapped(mcp, ({ fields = {}, server }, name) => ({
      values: withSecrets(fields, fieldsOf(manifest.mcp, name), secret),
      ...(server && { server }),
    })),
    settings: withSecrets(settings, manifest.settings, secret),
    uploads: await uploadsFor(manifest.settings, settings),
    extra: Object.fromEntries(extraNames(manifest, ownNames).flatMap((name) => entryOf(name, secret(name)))),
  };
  return { answers, keyPending: pending };
}

const mapped = <T, R>(record: Record<string, T> = {}, change: (value: T, name: string) => R): Record<string, R> =>
  Object.fromEntries(Object.entries(record).map(([name, value]) => [name, change(value, name)]));

const entryOf = <T>(name: string, value: T | undefined): [string, T][] => (value === undefined ? [] : [[name, value]]);

const fieldsOf = (types: Record<string, { fields: Field[] }>, name: string): Field[] => own(types, name)?.fields ?? [];

function withSecrets(
  given: Record<string, string>,
  fields: Field[],
  secret: (name: string) => Secret | undefined,
): Values {
  const values: Values = { ...given };
  for (const field of fields) {
    const found = field.secret && secret(field.secret);
    if (found) values[field.name] = found;
  }
  return values;
}

async function modelChoice(
  session: Session,
  { name, ref }: ResolvedAgent,
  { provider, model }: { provider: string; model?: string | undefined },
): Promise<ModelChoice> {
  const known = await providerValues(session, provider);
  const chosen = model ?? known.model;
  if (chosen !== undefined) return { provider, type: known.type, values: known.values, model: chosen };
  throw new Fault("needs-answer", `which model of provider ${provider} should ${name} use?`, {
    why: "neither the agent nor the provider names one",
    next: [`clm agent configure ${ref} --model MODEL`, `clm provider update ${provider} --model MODEL`],
    flag: "--model",
  });
}

function unchosenProvider({ providers }: Session, agent: ResolvedAgent): Fault {
  const names = Object.keys(providers.read().providers);
  if (names.length === 0) return noProvider(agent);
  return new Fault("needs-answer", `which provider should ${agent.name} use?`, {
    why: `there are ${names.join(", ")}; choose one with --provider`,
    next: `clm agent configure ${agent.ref} --provider ${names[0]}`,
    flag: "--provider",
  });
}
