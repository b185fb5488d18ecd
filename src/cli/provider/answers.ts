import { checkAnswer } from "../../agents/manifest/fields.js";
import type { Field } from "../../agents/manifest/manifest.js";
import { Fault } from "../../errors.js";
import { checkAnswerOrAddress } from "../../flows/provider/address.js";
import { flagFor, type KnownType, keyField, secretFields } from "../../flows/provider/types.js";
import { parseSource, referenceOf, type SecretSource, secretFrom } from "../../flows/secret-source.js";
import type { Session } from "../../flows/session.js";
import { Secret } from "../../secret.js";
import type { OptionValues } from "../command.js";
import { usage } from "../usage.js";
import type { answerOptions } from "./commands.js";

/** The answers on the command line, not yet checked against the type. */
export interface AnswerOptions {
  /** `clm provider add`, for errors. */
  path: string;
  model: string | undefined;
  /** By field. */
  fields: [string, string][];
  secrets: SecretAnswer[];
}

interface SecretAnswer {
  /** Without it, the key of the type. */
  field?: string;
  source: SecretSource;
  /** Otherwise it is read each time. */
  stored: boolean;
}

export function answersFrom(path: string, options: OptionValues<typeof answerOptions>): AnswerOptions {
  const { model, endpoint, region, set, keyFile, keyRef, keyStdin, secret, secretRef } = options;
  if ([keyStdin, keyFile, keyRef].filter(Boolean).length > 1) {
    throw usage(path, "use only one of --key-stdin, --key-file and --key-ref");
  }
  const fields = set.map((text) => assignment("--set", text));
  if (endpoint !== undefined) fields.push(["endpoint", endpoint]);
  if (region !== undefined) fields.push(["region", region]);
  if (fields.some(([name]) => name === "model")) throw usage(path, "set the model with --model");
  const secrets = secret.map((text) => secretAssignment("--secret", text, true));
  if (keyStdin) secrets.push({ source: { kind: "stdin" }, stored: true });
  if (keyFile !== undefined) secrets.push({ source: parseSource(`file:${keyFile}`), stored: true });
  secrets.push(...secretRef.map((text) => secretAssignment("--secret-ref", text, false)));
  if (keyRef !== undefined) secrets.push({ source: parseSource(keyRef), stored: false });
  return { path, model, fields, secrets };
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
export async function checkAnswers(session: Session, type: KnownType, options: AnswerOptions): Promise<Answers> {
  const named = options.secrets.map((each) => ({ ...each, field: each.field ?? keyName(type) }));
  for (const { field } of named) mustBeSecret(type, field);
  const names = [...options.fields.map(([name]) => name), ...named.map(({ field }) => field)];
  const twice = names.find((name, at) => names.indexOf(name) < at);
  if (twice) throw usage(options.path, `${twice} is given twice`);
  const fields = options.fields.map(([name, text]) => [name, checkPlain(type, name, text)]);
  const answers: Answers = { fields: Object.fromEntries(fields), secrets: {}, fetched: {}, references: {} };
  for (const { field, source, stored } of named) {
    const value = await secretOf(session, type, field, source);
    if (stored) answers.secrets[field] = value;
    else {
      answers.fetched[field] = value;
      answers.references[field] = spelled(source);
    }
  }
  return answers;
}

function keyName(type: KnownType): string {
  const field = keyField(type);
  if (field) return field.name;
  throw new Fault("bad-input", `${type.name} takes no key`, { next: "clm provider types" });
}

export async function askMissing(session: Session, type: KnownType, known: Answers): Promise<Answers> {
  const fields = { ...known.fields };
  const secrets = { ...known.secrets };
  for (const field of type.fields.filter((each) => each.required && each.default === undefined)) {
    const { name } = field;
    if ([fields, secrets, known.fetched].some((answers) => Object.hasOwn(answers, name))) continue;
    if (field.secret) secrets[name] = await secretOf(session, type, name, { kind: "prompt" });
    else {
      const text = await session.ui.ask({ message: `${field.ask}:`, flag: flagFor(type, field) });
      fields[name] = checkPlain(type, name, text);
    }
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
  const answer = checkAnswerOrAddress(field, text);
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

async function secretOf(session: Session, type: KnownType, name: string, source: SecretSource): Promise<Secret> {
  const field = fieldOf(type, name);
  const secret = await secretFrom(session, source, {
    what: secretFields(type).length > 1 ? `${name} of ${type.name}` : `the key of ${type.name}`,
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
function secretAssignment(flag: string, text: string, stored: boolean): SecretAnswer {
  const [field, source] = assignment(flag, text);
  return { field, source: parseSource(source), stored };
}
