import { type Check, fail, ok, warn } from "../../agents/check.js";
import type { Field, Manifest } from "../../agents/manifest/manifest.js";
import { needsProvider } from "../../agents/manifest/registry.js";
import type { Secret } from "../../secret.js";
import { providersOf } from "../../state/agent.js";
import { type Agent, secretOwner } from "../../state/agents.js";
import type { SecretOwner } from "../../state/secret-owner.js";
import { isKey, nextName, rotateLine } from "../agent/api-key.js";
import { missingProviders } from "../agent/missing-providers.js";
import type { Session } from "../session.js";

type Known = Pick<Session, "secrets" | "providers">;

export function checkRecorded(known: Known, manifest: Manifest, agent: Agent): Check[] {
  return [
    checkOnboarding(agent),
    checkSecrets(known, manifest, agent),
    ...(needsProvider(manifest) ? [checkProviders(known, agent)] : []),
  ];
}

function checkOnboarding({ name, ref, host, record }: Agent): Check {
  const id = "onboarding";
  if (record.status === "installing") {
    const fix = `clm agent install --host ${host.name} --name ${name}`;
    return { id, ...fail("its installation was not finished", fix) };
  }
  if (record.status === "removing") return { id, ...fail("its removal was not finished", `clm agent remove ${ref}`) };
  const { state } = record.onboarding;
  return { id, ...(state === "ready" ? ok("ready") : warn(`onboarding is at ${state}`, `clm agent configure ${ref}`)) };
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
function checkSecrets({ secrets, providers }: Known, manifest: Manifest, agent: Agent): Check {
  const { record, ref } = agent;
  const id = "secrets";
  const instance = secretOwner(agent);
  const { secret: keyName } = manifest.api;
  const key = keyName && secrets.get(instance, keyName);
  if (keyName && secrets.get(instance, nextName(keyName)))
    return { id, result: "warn", reason: "its key rotation is not finished", fix: rotateLine(ref) };
  if (keyName && (!key || !isKey(key))) {
    const what = key ? `${keyName} is not a key of 64 hex digits` : `${keyName} is missing`;
    return { id, result: "fail", reason: what, fix: rotateLine(ref) };
  }
  const known = providers.read().providers;
  const own = [
    ...Object.keys(record.channels ?? {}).flatMap((name) => secretsIn(manifest.channels, name)),
    ...Object.keys(record.mcp ?? {}).flatMap((name) => secretsIn(manifest.mcp, name)),
  ];
  const wanted: Needed[] = [
    ...[...new Set(providersOf(record))].flatMap((name) => providerSecrets(manifest, known[name], name)),
    ...own.map((name) => ({ instance, name, fix: `clm agent configure ${ref} --stage channels` })),
  ];
  const bad = wanted.flatMap(({ instance: whose, name, of = "", fix }) => {
    const value = secrets.get(whose, name);
    const trouble = !value ? "is missing" : isPlaceholder(value) ? "is only a placeholder" : undefined;
    return trouble ? [{ reason: `${name}${of} ${trouble}`, fix }] : [];
  });
  const [first] = bad;
  if (first) return { id, result: "fail", reason: bad.map(({ reason }) => reason).join("; "), fix: first.fix };
  const names = [...(keyName ? [keyName] : []), ...wanted.map(({ name, of = "" }) => `${name}${of}`)];
  if (names.length === 0) return { id, result: "ok", reason: "it needs none" };
  return { id, result: "ok", reason: `${names.join(", ")} ${names.length > 1 ? "are" : "is"} present` };
}

const isPlaceholder = (secret: Secret): boolean => placeholder.test(secret.reveal().trim());

/** A secret that is referenced is fetched when needed, and cannot be missing here. */
function providerSecrets(
  manifest: Manifest,
  provider: { type: string; references?: Record<string, string> | undefined } | undefined,
  name: string,
): Needed[] {
  if (!provider) return [];
  const asked = (Object.hasOwn(manifest.providers, provider.type) && manifest.providers[provider.type]?.fields) || [];
  return asked
    .filter((field) => isNeeded(field) && !Object.hasOwn(provider.references ?? {}, field.name))
    .map(({ name: field, secret = "" }) => ({
      instance: { provider: name },
      name: secret,
      of: ` of provider ${name}`,
      fix: `clm provider update ${name} --secret ${field}=env:VARIABLE`,
    }));
}

const secretsIn = (types: Record<string, { fields: Field[] }>, name: string): string[] =>
  ((Object.hasOwn(types, name) && types[name]?.fields) || []).filter(isNeeded).map(({ secret = "" }) => secret);

const isNeeded = ({ secret, required }: Field): boolean => secret !== undefined && required;

function checkProviders({ providers }: Known, { record, ref }: Agent): Check {
  const id = "provider";
  const gone = missingProviders(record, providers.read());
  if (gone.length > 0) {
    const fix = `clm agent configure ${ref} ${[...new Set(gone.map(({ flag }) => flag))].join(" ")}`;
    const what = gone.map(({ provider, as }) => `${provider} as ${as}`).join(", ");
    return { id, result: "fail", reason: `it has ${what}, which does not exist`, fix };
  }
  if (record.provider === undefined)
    return { id, ...warn("it has no provider yet", `clm agent configure ${ref} --stage providers`) };
  return { id, ...ok(record.provider) };
}
