import { readFileSync } from "node:fs";
import { join } from "node:path";
import shipped from "../../../manifests/models.yaml?raw";
import { Fault } from "../../errors.js";
import { quote } from "../../quote.js";
import { isRecord } from "../../text/record.js";
import { matchesPattern } from "../../text/wildcard.js";
import { builtIn } from "./files.js";

export interface ModelFacts {
  /** USD per million tokens. */
  input?: number;
  output?: number;
  /** Size of its context window in tokens. */
  context?: number;
}

export interface Models {
  /** Facts about a model of a provider type; undefined when no entry matches. */
  of(providerType: string, model: string): ModelFacts | undefined;
  /** The user's file for additions and corrections. */
  readonly overlay: string;
}

export const overlayIn = (configDir: string): string => join(configDir, "models.yaml");

/** By provider type; patterns in the order of the file. */
type Table = Map<string, [pattern: string, facts: ModelFacts][]>;

/** Prices and context windows of models. The user's `models.yaml` overrides the built-in one field by field. */
export async function loadModels(configDir: string): Promise<Models> {
  const overlay = overlayIn(configDir);
  const own = textOf(overlay);
  const tables = [...(own === undefined ? [] : [await tableIn(overlay, own)]), await tableIn(builtIn, shipped)];
  const find = (providerType: string, model: string): ModelFacts | undefined => {
    const found = tables.flatMap((table) => factsIn(table, providerType, model) ?? []);
    return found.length === 0 ? undefined : Object.assign({}, ...found.reverse());
  };
  // The gateway looks up a model for every request.
  const known = new Map<string, ModelFacts | undefined>();
  return {
    overlay,
    of(providerType, model) {
      const key = `${providerType} ${model}`;
      if (known.has(key)) return known.get(key);
      if (known.size >= maxCached) known.clear();
      const facts = find(providerType, model);
      known.set(key, facts);
      return facts;
    },
  };
}

// Callers choose the names of models behind a proxy: the cache must not grow with them.
const maxCached = 1000;

function factsIn(table: Table, providerType: string, model: string): ModelFacts | undefined {
  const among = [...(table.get(providerType) ?? []), ...(table.get("*") ?? [])];
  return among.find(([pattern]) => matchesPattern(pattern, model))?.[1];
}

function textOf(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === "ENOENT") return undefined;
    throw flawed(path, code ?? message);
  }
}

async function tableIn(file: string, text: string): Promise<Table> {
  // The build turns our own file into JSON.
  const isJson = file === builtIn && text.startsWith("{");
  const models = modelsOf(file, isJson ? JSON.parse(text) : await asYaml(file, text));
  return new Map(
    Object.entries(models).map(([type, entries]) => {
      if (!isRecord(entries)) throw flawed(file, `models.${type} should be a map of model names`);
      return [type, Object.entries(entries).map(([pattern, facts]) => [pattern, checked(file, type, pattern, facts)])];
    }),
  );
}

async function asYaml(file: string, text: string): Promise<unknown> {
  const { parseDocument } = await import("../../text/yaml.js");
  const document = parseDocument(text);
  const [error] = document.errors;
  if (!error) return document.toJS();
  throw flawed(file, `line ${error.linePos?.[0].line ?? 1}: ${error.message.split("\n", 1)[0]}`);
}

function modelsOf(file: string, content: unknown): Record<string, unknown> {
  const members = content ?? {};
  if (!isRecord(members)) throw flawed(file, "it should be a map with `models:`");
  const stray = Object.keys(members).find((key) => key !== "models");
  if (stray !== undefined) throw flawed(file, `'${stray}' is not known here: provider types go below \`models:\``);
  const models = members.models ?? {};
  if (!isRecord(models)) throw flawed(file, "models should be a map of provider types");
  return models;
}

const fields = ["input", "output", "context"] as const;

function checked(file: string, type: string, pattern: string, facts: unknown): ModelFacts {
  const at = `models.${type}.${pattern}`;
  if (!isRecord(facts)) throw flawed(file, `${at} should be { input, output, context }`);
  for (const [name, value] of Object.entries(facts)) {
    if (!fields.some((field) => field === name))
      throw flawed(file, `${at}: '${name}' is not known; there are ${fields.join(", ")}`);
    const isAmount = typeof value === "number" && value >= 0 && value <= 1e9;
    if (name !== "context" && !isAmount) throw flawed(file, `${at}.${name} should be USD per million tokens`);
    if (name === "context" && !(isAmount && Number.isInteger(value) && value > 0))
      throw flawed(file, `${at}.${name} should be a whole number of tokens`);
  }
  return facts;
}

const flawed = (file: string, reason: string) =>
  new Fault("bad-input", `the prices and windows in ${file} cannot be used`, {
    why: reason,
    next: `\${EDITOR:-vi} ${quote(file)}`,
    data: { file, reason },
  });
