import { isRecord } from "../../text/record.js";
import { fill } from "./template.js";

export type Tree = Record<string, unknown>;

/** Fills in a tree's templates. Entries with missing values are dropped, and so are branches that become empty. */
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
  if (!isRecord(value)) return value;
  const below = filled(value, values);
  return Object.keys(below).length > 0 || Object.keys(value).length === 0 ? below : undefined;
}

/** `{{number port}}` alone becomes a number, not a string. */
function filledText(template: string, values: Record<string, string>): string | number | undefined {
  const text = fill(template, values);
  return text !== undefined && /^\{\{\s*number\s[^{}]*\}\}$/.test(template) ? Number(text) : text;
}

/** Each leaf with its dotted path. A list is a leaf. */
export function leavesOf(tree: Tree, above = ""): [path: string, value: unknown][] {
  return Object.entries(tree).flatMap(([key, value]): [string, unknown][] => {
    const path = above ? `${above}.${key}` : key;
    return isRecord(value) && Object.keys(value).length > 0 ? leavesOf(value, path) : [[path, value]];
  });
}
