import { fill } from "./template.js";

export type Tree = Record<string, unknown>;

export const isTree = (value: unknown): value is Tree =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** A tree with its templates filled in. What names a value nobody gave is left out, and so is what is empty then. */
export function filled(tree: Tree, values: Record<string, string>): Tree {
  return Object.fromEntries(
    Object.entries(tree).flatMap(([key, value]) => {
      const result = filledValue(value, values);
      return result === undefined ? [] : [[key, result]];
    }),
  );
}

function filledValue(value: unknown, values: Record<string, string>): unknown {
  if (typeof value === "string") return filledText(value, values);
  if (Array.isArray(value)) return value.flatMap((item) => filledValue(item, values) ?? []);
  if (!isTree(value)) return value;
  const below = filled(value, values);
  return Object.keys(below).length > 0 || Object.keys(value).length === 0 ? below : undefined;
}

/** `{{number port}}` alone is a number in the file, and no text. */
function filledText(template: string, values: Record<string, string>): string | number | undefined {
  const text = fill(template, values);
  return text !== undefined && /^\{\{\s*number\s[^{}]*\}\}$/.test(template) ? Number(text) : text;
}

/** `above` laid over `below`; neither is changed. */
export function over(below: Tree, above: Tree): Tree {
  const result = { ...below };
  for (const [key, value] of Object.entries(above)) {
    const under = result[key];
    result[key] = isTree(value) && isTree(under) ? over(under, value) : value;
  }
  return result;
}

/** Each leaf with its dotted path. A list is a leaf. */
export function leavesOf(tree: Tree, above = ""): [path: string, value: unknown][] {
  return Object.entries(tree).flatMap(([key, value]): [string, unknown][] => {
    const path = above ? `${above}.${key}` : key;
    return isTree(value) && Object.keys(value).length > 0 ? leavesOf(value, path) : [[path, value]];
  });
}
