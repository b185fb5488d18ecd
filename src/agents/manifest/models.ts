import { readFileSync } from "node:fs";
import { join } from "node:path";
import shipped from "../../../manifests/models.yaml?raw";
import { Fault } from "../../errors.js";
import { quote } from "../../quote.js";
import { isRecord } from "../../text/record.js";
import { matchesPattern } from "../../text/wildcard.js";
import { builtIn } from "./files.js";

/** What is known of a model. */
export interface ModelFacts {
  /** USD per million tokens. */
  input?: number;
  output?: number;
  /** Tokens that its window holds. */
  context?: number;
}

export interface Models {
  /** What is known of a model of a provider's type; nothing when no entry fits. */
  of(providerType: string, model: string): ModelFacts | undefined;
  /** Where the user writes what is not known or has changed. */
  readonly overlay: string;
}

export const overlayIn = (configDir: string): string => join(configDir, "models.yaml");

/** By provider type and pattern, in the order they are written. */
type Table = Map<string, [pattern: string, facts: ModelFacts][]>;

/** Models: what they cost and hold. The user's `models.yaml` counts before ours, field by field. */
export async function loadModels(configDir: string): Promise<Models> {
  const overlay = overlayIn(configDir);
  const own = textOf(overlay);
  const tables = [...(own === undefined ? [] : [await tableIn(overlay, own)]), await tableIn(builtIn, shipped)];
  const find = (providerType: string, model: string): ModelFacts | undefined => {
    const found = tables.flatMap((table) => factsIn(table, providerType, model) ?? []);
    return found.length === 0 ? undefined : Object.assign({}, ...found.reverse());
  };
  // The gateway asks for every request, and mostly the same.
  const known = new Map<string, ModelFacts | undefined>();
  return {
    overlay,
    of(providerType, model) {
      const place = `${providerType} ${model}`;
      if (known.has(place)) return known.get(place);
      if (known.size >= remembered) known.clear();
      const facts = find(providerType, model);
      known.set(place, facts);
      return facts;
    },
  };
}

// Callers choose the names of models behind a proxy: what is remembered must not grow with them.
const remembered = 1000;

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
  const content = file === builtIn ? ours(text) : undefined;
  const models = modelsOf(file, content ?? (await asYaml(file, text)));
  return new Map(
    Object.entries(models).map(([type, entries]) => {
      if (!isRecord(entries)) throw flawed(file, `models.${type} should be a map of model names`);
      return [type, Object.entries(entries).map(([pattern, facts]) => [pattern, checked(file, type, pattern, facts)])];
    }),
  );
}

/** Ours is built in as JSON. */
const ours = (text: string): unknown => (text.startsWith("{") ? JSON.parse(text) : undefined);

async function asYaml(file: string, text: string): Promise<unknown> {
  const { parseDocument } = await import("../../text/yaml.js");
  const document = parseDocument(text);
  const [error] = document.errors;
  if (!error) return document.toJS();
  throw flawed(file, `line ${error.linePos?.[0].line ?? 1}: ${error.message.split("\n", 1)[0]}`);
}

/** An empty file says nothing, which is fine. */
function modelsOf(file: string, content: unknown): Record<string, unknown> {
  if (content === null || content === undefined) return {};
  if (!isRecord(content)) throw flawed(file, "it should be a map with `models:`");
  const stray = Object.keys(content).find((key) => key !== "models");
  if (stray !== undefined) throw flawed(file, `'${stray}' is not known here: provider types stand below \`models:\``);
  if (content.models === null || content.models === undefined) return {};
  if (!isRecord(content.models)) throw flawed(file, "models should be a map of provider types");
  return content.models;
}

const fields = ["input", "output", "context"] as const;

function checked(file: string, type: string, pattern: string, facts: unknown): ModelFacts {
  const place = `models.${type}.${pattern}`;
  if (!isRecord(facts)) throw flawed(file, `${place} should be { input, output, context }`);
  for (const [name, value] of Object.entries(facts)) {
    if (!fields.some((field) => field === name))
      throw flawed(file, `${place}: '${name}' is not known; there are ${fields.join(", ")}`);
    const isContext = name === "context";
    const isFine = typeof value === "number" && Number.isFinite(value) && value >= 0 && value <= 1e9;
    if (!isFine || (isContext && !(Number.isInteger(value) && value > 0)))
      throw flawed(
        file,
        `${place}.${name} should be ${isContext ? "a whole number of tokens" : "USD per million tokens"}`,
      );
  }
  return facts;
}

const flawed = (file: string, reason: string) =>
  new Fault("bad-input", `the prices and windows in ${file} cannot be used`, {
    why: reason,
    next: `\${EDITOR:-vi} ${quote(file)}`,
    data: { file, reason },
  });
