export type TomlValue = string | number | boolean | TomlValue[] | TomlTable;
/** In writing order. */
export type TomlTable = Map<string, TomlValue>;

/** The short escapes are those of JSON. */
const escaped = (character: string): string =>
  /["\\\b\t\n\f\r]/.test(character)
    ? JSON.stringify(character).slice(1, -1)
    : `\\u${character.charCodeAt(0).toString(16).toUpperCase().padStart(4, "0")}`;

export const tomlString = (text: string): string =>
  `"${text.replace(/\p{Surrogate}/gu, "\uFFFD").replace(/["\\\p{Cc}]/gu, escaped)}"`;

/** Bare where TOML allows it: ASCII letters, digits, _ and -. */
export const tomlKey = (key: string): string => (/^[A-Za-z0-9_-]+$/.test(key) ? key : tomlString(key));

/** Always a float: readers expect fractional seconds. */
const tomlFloat = (value: number): string => (/^-?\d+$/.test(String(value)) ? `${value}.0` : String(value));

export function tomlValue(value: TomlValue): string {
  if (typeof value === "string") return tomlString(value);
  if (typeof value === "number") return tomlFloat(value);
  if (typeof value === "boolean") return String(value);
  if (Array.isArray(value)) return `[${value.map(tomlValue).join(", ")}]`;
  const entries = [...value].map(([key, inner]) => `${tomlKey(key)} = ${tomlValue(inner)}`);
  return entries.length > 0 ? `{ ${entries.join(", ")} }` : "{}";
}
