import { type Check, checksFrom, fail, ok, type Verdict, warn } from "../../agents/check.js";
import type { Field, Manifest } from "../../agents/manifest/manifest.js";
import { needsProvider } from "../../agents/manifest/registry.js";
import { providersOf } from "../../state/agent.js";
import { type Agent, secretOwner } from "../../state/agents.js";
import type { Provider } from "../../state/providers.js";
import type { SecretOwner } from "../../state/secret-owner.js";
import { own } from "../../text/own-property.js";
import { isKey, nextName, rotateLine } from "../agent/api-key.js";
import { missingProviders } from "../agent/missing-providers.js";
import type { Session } from "../session.js";

type Known = Pick<Session, "secrets" | "providers">;

export const checkRecorded = (known: Known, manifest: Manifest, agent: Agent): Check[] =>
  checksFrom({
    onboarding: checkOnboarding(agent),
    secrets: checkSecrets(known, manifest, agent),
    provider: needsProvider(manifest) ? checkProviders(known, agent) : undefined,
  });

function checkOnboarding({ name, ref, host, record }: Agent): Verdict {
  if (record.status === "installing")
    return fail("its installation was not finished", `clm agent install --host ${host.name} --name ${name}`);
  if (record.status === "removing") return fail("its removal was not finished", `clm agent remove ${ref}`);
  const { state } = record.onboarding;
  return state === "ready" ? ok("ready") : warn(`onboarding is at ${state}`, `clm agent configure ${ref}`);
}

const placeholder = /^(?:\*+|x{3,}|change-?me|your[-_ ].*|placeholder|example|dummy|null|none|todo)$/i;

interface Needed {
  instance: SecretOwner;
  name: string;
  /** Follows the name in messages. */
  of?: string;
  fix: string;
}

/** Every secret it needs exists and looks like one. Only names are shown. */
function checkSecrets({ secrets, providers }: Known, manifest: Manifest, agent: Agent): Verdict {
  const { record, ref } = agent;
  const instance = secretOwner(agent);
  const { secret: keyName } = manifest.api;
  const key = keyName && secrets.get(instance, keyName);
  if (keyName && secrets.get(instance, nextName(keyName)))
    return warn("its key rotation is not finished", rotateLine(ref));
  if (keyName && (!key || !isKey(key)))
    return fail(key ? `${keyName} is not a key of 64 hex digits` : `${keyName} is missing`, rotateLine(ref));
  const known = providers.read().providers;
  const ofItsOwn = [...secretsIn(manifest.channels, record.channels), ...secretsIn(manifest.mcp, record.mcp)];
  const wanted: Needed[] = [
    ...[...new Set(providersOf(record))].flatMap((name) => providerSecrets(manifest, known[name], name)),
    ...ofItsOwn.map((name) => ({ instance, name, fix: `clm agent configure ${ref} --stage channels` })),
  ];
  const bad = wanted.flatMap(({ instance: whose, name, of = "", fix }) => {
    const value = secrets.get(whose, name);
    if (!value) return [{ reason: `${name}${of} is missing`, fix }];
    return placeholder.test(value.reveal().trim()) ? [{ reason: `${name}${of} is only a placeholder`, fix }] : [];
  });
  const [first] = bad;
  if (first) return fail(bad.map(({ reason }) => reason).join("; "), first.fix);
  const names = [...(keyName ? [keyName] : []), ...wanted.map(({ name, of = "" }) => `${name}${of}`)];
  if (names.length === 0) return ok("it needs none");
  return ok(`${names.join(", ")} ${names.length > 1 ? "are" : "is"} present`);
}

/** A secret that is referenced is fetched when needed, and cannot be missing here. */
function providerSecrets(manifest: Manifest, provider: Provider | undefined, name: string): Needed[] {
  if (!provider) return [];
  return neededFields(manifest.providers, [provider.type])
    .filter((field) => !Object.hasOwn(provider.references ?? {}, field.name))
    .map(({ name: field, secret = "" }) => ({
      instance: { provider: name },
      name: secret,
      of: ` of provider ${name}`,
      fix: `clm provider update ${name} --secret ${field}=env:VARIABLE`,
    }));
}

const secretsIn = (types: Record<string, { fields: Field[] }>, used: object = {}): string[] =>
  neededFields(types, Object.keys(used)).map(({ secret = "" }) => secret);

/** The required secrets of these types. */
const neededFields = (types: Record<string, { fields: Field[] }>, names: string[]): Field[] =>
  names
    .flatMap((name) => own(types, name)?.fields ?? [])
    .filter(({ secret, required }) => secret !== undefined && required);

function checkProviders({ providers }: Known, { record, ref }: Agent): Verdict {
  const gone = missingProviders(record, providers.read());
  if (gone.length > 0) {
    const fix = `clm agent configure ${ref} ${[...new Set(gone.map(({ flag }) => flag))].join(" ")}`;
    const what = gone.map(({ provider, as }) => `${provider} as ${as}`).join(", ");
    return fail(`it has ${what}, which does not exist`, fix);
  }
  if (record.provider === undefined)
    return warn("it has no provider yet", `clm agent configure ${ref} --stage providers`);
  return ok(record.provider);
}
