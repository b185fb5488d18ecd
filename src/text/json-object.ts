import { jsonExcess } from "./json-limits.js";

/** Parses a JSON object or list; undefined for anything else, or beyond the limits: the text is not trusted. */
export function objectFrom<T extends object>(text: string): T | undefined {
  // Avoids most exceptions, each of which costs as much as parsing some kilobytes.
  if (!/^\s*[[{]/.test(text) || jsonExcess(text) !== undefined) return undefined;
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? (value as T) : undefined;
  } catch {
    return undefined;
  }
}
