import { checkAnswer } from "../../agents/manifest/fields.js";
import type { Field } from "../../agents/manifest/manifest.js";
import { Fault } from "../../errors.js";
import { addressFrom, isAddress } from "../../flows/provider/address.js";
import { flagFor, type KnownType, keyField, secretFields } from "../../flows/provider/types.js";
import { parseSource, referenceOf, type SecretSource, secretFrom } from "../../flows/secret-source.js";
import type { Session } from "../../flows/session.js";
import { Secret } from "../../secret.js";
import { usage } from "../usage.js";

interface ProviderOptions {
  model: string | undefined;
  endpoint: string | undefined;
  region: string | undefined;
  set: string[];
  keyStdin: boolean;
  keyFile: string | undefined;
  keyRef: string | undefined;
  secret: string[];
  secretRef: string[];
}

export function answersFrom(path: string, options: ProviderOptions): AnswerOptions {
  const { model, endpoint, region, set, keyFile, keyRef, keyStdin, secret, secretRef } = options;
  if ([keyStdin, keyFile, keyRef].filter(Boolean).length > 1) {
    throw usage(path, "use only one of --key-stdin, --key-file and --key-ref");
  }
  const pairs = set.map((text) => assignment("--set", text));
  if (endpoint !== undefined) pairs.push(["endpoint", endpoint]);
  if (region !== undefined) pairs.push(["region", region]);
  if (pairs.some(([name]) => name === "model")) throw usage(path, "set the model with --model");
  return {
    model,
    fields: onceEach(path, pairs),
    secrets: onceEach(
      path,
      secret.map((text) => sourceAssignment("--secret", text)),
    ),
    references: onceEach(
      path,
      secretRef.map((text) => sourceAssignment("--secret-ref", text)),
    ),
    key: keyStdin ? { kind: "stdin" } : keyFile === undefined ? undefined : parseSource(`file:${keyFile}`),
    keyReference: keyRef === undefined ? undefined : parseSource(keyRef),
  };
}

function onceEach<V extends string | SecretSource>(path: string, pairs: [string, V][]): Record<string, V> {
  const twice = pairs.find(([name], at) => pairs.findIndex(([other]) => other === name) < at);
  if (twice) throw usage(path, `${twice[0]} is given twice`);
  return Object.fromEntries(pairs);
}

/** The answers on the command line, not yet checked against the type. */
export interface AnswerOptions {
  model?: string | undefined;
  /** By field. */
  fields: Record<string, string>;
  /** By field. */
  secrets: Record<string, SecretSource>;
  /** The secret of a type that has only one. */
  key?: SecretSource | undefined;
  /** By field: secrets that are fetched each time instead of being stored. */
  references: Record<string, SecretSource>;
  keyReference?: SecretSource | undefined;
}

/** The same, checked against the type, with the secrets read. */
export interface Answers {
  fields: Record<string, string>;
  /** By field; to be stored. */
  secrets: Record<string, Secret>;
  /** By field; fetched now to prove that the reference works, and not stored. */
  fetched: Record<string, Secret>;
  /** By field, as typed. */
  references: Record<string, string>;
}

/** Checks every answer before anything is fetched or asked. */
export async function checkAnswers(session: Session, type: KnownType, given: AnswerOptions): Promise<Answers> {
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

/** Prompts for required fields that were not given. */
export async function askMissing(session: Session, type: KnownType, known: Answers): Promise<Answers> {
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
    why: names.length > 0 ? `its fields are ${names.join(", ")}` : "it has no fields",
    next: "clm provider types",
  });
}

function checkPlain(type: KnownType, name: string, text: string): string {
  const field = fieldOf(type, name);
  if (field.secret) {
    throw new Fault("bad-input", `${name} is a secret, and a secret is never an argument`, {
      why: `every user of this machine can read process arguments; use ${flagFor(type, field)}`,
    });
  }
  const answer = checkAnswer(field, isAddress(field) ? addressFrom(text) : text);
  if (answer !== "") return answer;
  throw new Fault("bad-input", `${name} is empty`, {
    why: `clm provider update NAME --unset ${name} removes the value`,
  });
}

function mustBeSecret(type: KnownType, name: string): void {
  const field = fieldOf(type, name);
  if (!field.secret) {
    throw new Fault("bad-input", `${name} of ${type.name} is not a secret`, { why: `use ${flagFor(type, field)}` });
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
  throw new Fault("bad-input", "a reference must be readable more than once", {
    why: "use env:NAME, file:PATH or cmd:COMMAND",
  });
}

/** Splits `field=value`. The error never repeats the value, which may be a secret. */
function assignment(flag: string, text: string): [name: string, value: string] {
  const at = text.indexOf("=");
  if (at > 0) return [text.slice(0, at), text.slice(at + 1)];
  throw new Fault("bad-input", `write ${flag} FIELD=…`, { next: "clm provider types" });
}

/** Splits `field=env:NAME`. */
function sourceAssignment(flag: string, text: string): [name: string, source: SecretSource] {
  const [name, source] = assignment(flag, text);
  return [name, parseSource(source)];
}
