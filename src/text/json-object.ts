import { jsonExcess } from "./json-limits.js";

/**
 * The object, or the list, that a text spells as JSON; nothing when it spells none. Whoever wrote it may have written anything,
 * so that a text of millions of nested lists is not parsed either.
 */
export function objectFrom<T extends object>(text: string): T | undefined {
  // Most of what is none is found without an exception, which takes as long as parsing some kilobytes.
  if (!/^\s*[[{]/.test(text) || jsonExcess(text) !== undefined) return undefined;
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? (value as T) : undefined;
  } catch {
    return undefined;
  }
}
