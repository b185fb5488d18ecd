import { checkAnswer } from "../../agents/fields.js";
import type { Field } from "../../agents/manifest.js";
import { Fault } from "../../errors.js";
import { Secret } from "../../secret.js";
import { parseSource, referenceOf, type SecretSource, secretFrom } from "../secret-source.js";
import type { Session } from "../session.js";
import { addressFrom, isAddress } from "./address.js";
import { flagFor, type KnownType, keyField, secretFields } from "./types.js";

/** What was said about a provider on the command line. */
export interface Given {
  model?: string | undefined;
  /** By field. */
  fields: Record<string, string>;
  /** By field; of `key`, where the type's one secret is. */
  secrets: Record<string, SecretSource>;
  key?: SecretSource | undefined;
  /** By field, where a secret is fetched from each time instead of being kept; of `keyReference`, the type's one. */
  references: Record<string, SecretSource>;
  keyReference?: SecretSource | undefined;
}

/** The same, checked against the type and with its secrets in hand. */
export interface Answered {
  fields: Record<string, string>;
  /** By field. To be kept. */
  secrets: Record<string, Secret>;
  /** By field. Fetched now, to see that it can be had, and not to be kept. */
  fetched: Record<string, Secret>;
  /** By field, as typed. */
  references: Record<string, string>;
}

/** Checks everything that was given before anything is fetched or asked. */
export async function checkGiven(session: Session, type: KnownType, given: Given): Promise<Answered> {
  const sources = withKey(type, given.secrets, given.key);
  const references = withKey(type, given.references, given.keyReference);
  for (const name of Object.keys({ ...sources, ...references })) mustBeSecret(type, name);
  const twice = Object.keys(sources).find((name) => Object.hasOwn(references, name));
  if (twice) throw new Fault("usage", `${twice} is given twice`, { next: "clm provider add --help" });
  const fields = Object.fromEntries(
    Object.entries(given.fields).map(([name, text]) => [name, checkPlain(type, name, text)]),
  );
  const fetch = async (all: Record<string, SecretSource>) => {
    const found: Record<string, Secret> = {};
    for (const [name, source] of Object.entries(all)) found[name] = await secretOf(session, type, name, source);
    return found;
  };
  return {
    fields,
    secrets: await fetch(sources),
    fetched: await fetch(references),
    references: Object.fromEntries(Object.entries(references).map(([name, source]) => [name, spelled(source)])),
  };
}

/** What is required and was not given, asked of a person. */
export async function askMissing(session: Session, type: KnownType, known: Answered): Promise<Answered> {
  const fields = { ...known.fields };
  const secrets = { ...known.secrets };
  for (const field of type.fields.filter((each) => each.required && each.default === undefined)) {
    const { name } = field;
    if ([fields, secrets, known.fetched].some((given) => Object.hasOwn(given, name))) continue;
    if (field.secret) secrets[name] = await secretOf(session, type, name, { kind: "prompt" });
    else
      fields[name] = checkPlain(
        type,
        name,
        await session.ui.ask({ message: `${field.ask}:`, flag: flagFor(type, field) }),
      );
  }
  return { ...known, fields, secrets };
}

export function fieldOf(type: KnownType, name: string): Field {
  const field = type.fields.find((each) => each.name === name);
  if (field) return field;
  const names = type.fields.map((each) => each.name);
  throw new Fault("bad-input", `${type.name} has no field called '${name}'`, {
    why: names.length > 0 ? `it has ${names.join(", ")}` : "it has none",
    next: "clm provider types",
  });
}

function checkPlain(type: KnownType, name: string, text: string): string {
  const field = fieldOf(type, name);
  if (field.secret) {
    throw new Fault("bad-input", `${name} is a secret, and a secret is never an argument`, {
      why: `every user of this machine can read the arguments of every process; use ${flagFor(type, field)}`,
    });
  }
  const answer = checkAnswer(field, isAddress(field) ? addressFrom(text) : text);
  if (answer !== "") return answer;
  throw new Fault("bad-input", `${name} is empty`, {
    why: `clm provider update NAME --unset ${name} forgets an answer`,
  });
}

function mustBeSecret(type: KnownType, name: string): void {
  const field = fieldOf(type, name);
  if (!field.secret) {
    throw new Fault("bad-input", `${name} of ${type.name} is no secret`, { why: `use ${flagFor(type, field)}` });
  }
}

function withKey(
  type: KnownType,
  sources: Record<string, SecretSource>,
  key: SecretSource | undefined,
): Record<string, SecretSource> {
  if (!key) return sources;
  const field = keyField(type);
  if (!field) throw new Fault("bad-input", `${type.name} takes no key`, { next: "clm provider types" });
  if (Object.hasOwn(sources, field.name)) throw new Fault("usage", `${field.name} is given twice`);
  return { [field.name]: key, ...sources };
}

async function secretOf(session: Session, type: KnownType, name: string, source: SecretSource): Promise<Secret> {
  const field = fieldOf(type, name);
  const what = secretFields(type).length > 1 ? `${name} of ${type.name}` : `the key of ${type.name}`;
  const secret = await secretFrom(session, source, {
    what,
    flag: flagFor(type, field),
    ask: `${field.ask} (${type.title})`,
  });
  const kept = new Secret(checkAnswer(field, secret.reveal()));
  session.ui.hide(kept);
  return kept;
}

function spelled(source: SecretSource): string {
  const text = referenceOf(source);
  if (text) return text;
  throw new Fault("bad-input", "a reference must be one that can be asked again", {
    why: "it is env:NAME, file:PATH or cmd:COMMAND",
  });
}

/** `field=value`, and nothing of the value in what is said about it. */
export function assignment(flag: string, text: string): [name: string, value: string] {
  const at = text.indexOf("=");
  if (at > 0) return [text.slice(0, at), text.slice(at + 1)];
  throw new Fault("bad-input", `${flag} is written ${flag} FIELD=…`, { next: "clm provider types" });
}

/** `field=env:NAME` and the like. */
export function sourceAssignment(flag: string, text: string): [name: string, source: SecretSource] {
  const [name, source] = assignment(flag, text);
  return [name, parseSource(source)];
}
