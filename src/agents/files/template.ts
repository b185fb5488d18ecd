import { own } from "../../text/own-property.js";

type Value = string | number | boolean;

interface Template {
  parts: (string | Filled)[];
  names: string[];
}

interface Filled {
  name: string;
  through: (value: Value) => string;
}

const helpers: Record<string, (value: Value) => string> = {
  /** `http://gpu:11434` and `http://gpu:11434/v1/` both become `http://gpu:11434/v1`. */
  v1: (endpoint) => String(endpoint).replace(/\/+(v1\/*)?$|$/, "/v1"),
  /** Rendered as a number in config.yaml. */
  number: String,
  /** The first item of a comma-separated list. */
  first: (list) => String(list).replace(/\s*,.*$/s, ""),
};

const templates = new Map<string, Template>();

/** The template with its values filled in; undefined when a value is missing. */
export function fill(template: string, values: Record<string, Value>): string | undefined {
  const { parts, names } = read(template);
  if (!names.every((name) => Object.hasOwn(values, name))) return undefined;
  return parts.map((part) => (typeof part === "string" ? part : part.through(values[part.name] as Value))).join("");
}

/** The values that a template names. Throws when it is malformed. */
export const namesIn = (template: string): string[] => read(template).names;

/** The subset of Handlebars that a manifest may use: Handlebars itself takes longer to load than most commands run. */
function read(text: string): Template {
  const known = templates.get(text);
  if (known) return known;
  const parts = text
    .split(/(\{\{.*?\}\})/s)
    .map((part, index, all) => (index % 2 === 0 ? plain(part, all, index) : valueIn(part, text)));
  const names = parts.flatMap((part) => (typeof part === "string" ? [] : part.name));
  const template = { parts, names: [...new Set(names)] };
  templates.set(text, template);
  return template;
}

/** Text between values. Handlebars would interpret a backslash or a third brace there. */
function plain(part: string, all: string[], index: number): string {
  const odd = part.includes("{{") || (index > 0 && /^\}/.test(part)) || (index < all.length - 1 && /[{\\]$/.test(part));
  if (odd) throw beyond(all.join(""));
  return part;
}

function valueIn(part: string, text: string): Filled {
  const [, helper, name] = /^\{\{\s*(?:(\w+)\s+)?([A-Za-z_][\w-]*)\s*\}\}$/.exec(part) ?? [];
  if (name === undefined) throw beyond(text);
  if (helper === undefined) return { name, through: String };
  const through = own(helpers, helper);
  if (!through) throw new Error(`there is no helper '${helper}'`);
  return { name, through };
}

const beyond = (text: string): Error => new Error(`'${text}' is not a template of plain values`);
