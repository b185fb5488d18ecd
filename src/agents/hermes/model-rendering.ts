import { Fault } from "../../errors.js";
import { Secret } from "../../secret.js";
import { isRecord, mergeDeep } from "../../text/record.js";
import { type EnvDraft, plain } from "../files/dotenv.js";
import { fill, namesIn } from "../files/template.js";
import { filled, type Tree } from "../files/tree.js";
import { answered, publicValues, type Values } from "../manifest/fields.js";
import type { Field, Manifest, ProviderType } from "../manifest/manifest.js";
import { versionsIn } from "../manifest/registry.js";
import { inRange } from "../manifest/versions.js";
import type { ModelChoice, ResolvedAgent } from "../plan/resolved-agent.js";

/** A provider's settings for a model, before they are merged with those of other models. */
export interface RenderedModel {
  /** Its name in faults. */
  owner: string;
  name: string;
  env: Map<string, string | Secret>;
  config: Tree;
  /** The address comes from the user, not from the vendor. */
  ownAddress: boolean;
}

function providerType(manifest: Manifest, word: string): [name: string, type: ProviderType] {
  const found = Object.entries(manifest.providers).find(
    ([name, { aliases }]) => name === word || aliases.includes(word),
  );
  if (found) return found;
  throw new Fault("bad-input", `${manifest.title} has no provider type '${word}'`, { next: "clm provider types" });
}

export function renderModel({ manifest, version }: ResolvedAgent, choice: ModelChoice): RenderedModel {
  const owner = `provider '${choice.provider}'`;
  const [typeName, type] = providerType(manifest, choice.type);
  mustHave(manifest, version, type.when, `provider type '${typeName}'`);
  const values = answered(type.fields, choice.values);
  mustBeAnswered(type.fields, values, owner, `clm provider update ${choice.provider}`);
  if (!choice.model)
    throw new Fault("bad-input", `${owner} has no model`, {
      why: type.model ? `an example is ${type.model}` : [],
      next: `clm provider update ${choice.provider} --model NAME`,
    });
  mustNotExpand({ ...values, model: choice.model }, owner);

  const parts = type.render.filter(
    ({ when, given }) => inRange(version, when) && given.every((field) => Object.hasOwn(values, field)),
  );
  const all = { ...values, model: choice.model };
  const env = new Map(parts.flatMap((part) => [...filledEnv(part.env, all)]));
  const config = configOf(parts, all);
  const address = parts.map(({ config: { model } }) => isRecord(model) && model.base_url).findLast(Boolean);
  return {
    owner,
    name: choice.provider,
    env,
    config,
    ownAddress: typeof address === "string" && namesIn(address).length > 0,
  };
}

/** The parts of config.yaml, filled in and merged. */
export const configOf = (parts: readonly { config: Tree }[], values: Values): Tree =>
  parts.reduce<Tree>((tree, { config }) => mergeDeep(tree, filled(config, publicValues(values))), {});

export function mustHave(manifest: Manifest, version: string, range: string, what: string): void {
  if (inRange(version, range)) return;
  const having = versionsIn(manifest, range);
  throw new Fault("bad-input", `${manifest.title} ${version} has no ${what}`, {
    why: having.length > 0 ? `${having.join(", ")} ${having.length > 1 ? "have" : "has"} it` : "no version has it",
    next: "clm registry list",
    data: { versions: having },
  });
}

export function mustBeAnswered(fields: Field[], values: Values, owner: string, next: string): void {
  const missing = fields.filter(({ name, required }) => required && !Object.hasOwn(values, name));
  if (missing.length === 0) return;
  throw new Fault("bad-input", `${owner} lacks ${missing.map(({ name }) => name).join(", ")}`, {
    why: missing.map(({ ask }) => ask),
    next,
    data: { fields: missing.map(({ name }) => name) },
  });
}

/** config.yaml expands `${NAME}`, so an answer could put a key into an address. */
export function mustNotExpand(values: Values, owner: string): void {
  for (const [name, value] of Object.entries(values))
    if (typeof value === "string" && value.includes("${"))
      throw new Fault("bad-input", `${name} of ${owner} contains \${`, {
        why: "it would be replaced by a variable of the agent",
        data: { field: name },
      });
}

/** Fills in the templates of variables. A value made of a secret is a Secret. */
export function filledEnv(env: Record<string, string>, values: Values): Map<string, string | Secret> {
  const texts = Object.fromEntries(Object.entries(values).map(([name, value]) => [name, plain(value)]));
  const result = new Map<string, string | Secret>();
  for (const [name, template] of Object.entries(env)) {
    const text = fill(template, texts);
    if (text === undefined) continue;
    result.set(name, namesIn(template).some((each) => values[each] instanceof Secret) ? new Secret(text) : text);
  }
  return result;
}

/**
 * The model beside the main one: a fallback, or that of an auxiliary task. Its variables go to `.env`; a key that
 * conflicts with another provider's gets its own variable, if the entry can name one.
 */
export function entryFor(rendered: RenderedModel, env: EnvDraft, kind: "fallback" | "auxiliary"): Tree {
  const { owner, ownAddress } = rendered;
  const model = modelOf(rendered);
  const clashes = [...rendered.env].filter(([name, value]) => !env.agrees(name, value));
  for (const [name, value] of rendered.env) if (env.agrees(name, value)) env.put(name, value, owner);

  const keys = [...rendered.env].filter(([, value]) => value instanceof Secret);
  const custom = model.provider === "custom";
  const entry: Tree = { provider: model.provider, model: model.default };
  // Hermes treats an auxiliary task with an address as a custom endpoint, and uses only the key beside it.
  const addressed = custom || ownAddress || clashes.length > 0;
  if (addressed && model.base_url !== undefined) entry.base_url = model.base_url;
  if (model.api_key !== undefined) entry.api_key = model.api_key;
  else if (entry.base_url !== undefined && keys.length === 1) entry.api_key = `\${${keys[0]?.[0]}}`;
  if (model.api_mode !== undefined) entry.api_mode = model.api_mode;

  const [clash] = clashes;
  if (!clash) return entry;
  const [name, value] = clash;
  const canNameKey = keys.length === 1 && clashes.length === 1 && (kind === "fallback" || entry.base_url !== undefined);
  if (!(canNameKey && value instanceof Secret))
    throw new Fault("bad-input", `${owner} cannot be used beside another that sets ${name} differently`, {
      why: "an agent has one variable of that name, and Hermes reads this key from nowhere else",
      data: { variable: name, provider: rendered.name },
    });
  const own = `CLM_${rendered.name.toUpperCase().replace(/[^A-Z0-9]/g, "_")}_API_KEY`;
  env.put(own, value, owner);
  return { ...entry, api_key: `\${${own}}` };
}

export const modelOf = ({ config }: RenderedModel): Tree => (isRecord(config.model) ? config.model : {});
