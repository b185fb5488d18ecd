import { randomBytes } from "node:crypto";

/** A secret that a test gave to clm, with its name in test output. */
export interface Planted {
  name: string;
  value: string;
}

/** Unique in its first twelve characters. `tail` has characters that are written differently in JSON, URLs and quotes. */
export const plant = (name: string, tail: string, head = ""): Planted => ({
  name,
  value: `${head}pl4nt${randomBytes(9).toString("hex")}${tail}`,
});

/**
 * Every way a secret may be written, by the name of the way. Not taken from the product, whose own list hides secrets
 * from its output: what is missing there must be found here. The beginning alone is one too: a text may have been cut.
 */
export function spellings(value: string): Record<string, string> {
  const bytes = Buffer.from(value);
  const json = JSON.stringify(value).slice(1, -1);
  return {
    plain: value,
    beginning: value.slice(0, 16),
    JSON: json,
    "JSON in ASCII": json.replace(/[^ -~]/g, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`),
    URL: encodeURIComponent(value),
    "a form": new URLSearchParams({ v: value }).toString().slice(2),
    "single quotes": value.replaceAll("'", "'\\''"),
    "double quotes": value.replace(/["\\$`]/g, "\\$&"),
    "base64 at 0": insideBase64(bytes, 0),
    "base64 at 1": insideBase64(bytes, 1),
    "base64 at 2": insideBase64(bytes, 2),
    hex: bytes.toString("hex"),
    HEX: bytes.toString("hex").toUpperCase(),
  };
}

/** The spellings that contain the whole secret. */
export function wholeSpellings(value: string): string[] {
  const { beginning: _, "base64 at 0": _0, "base64 at 1": _1, "base64 at 2": _2, ...whole } = spellings(value);
  return [...Object.values(whole), ...["", "a", "ab"].map((before) => Buffer.from(before + value).toString("base64"))];
}

/** The base64 characters that depend on the secret alone, after this many bytes (modulo 3). */
function insideBase64(bytes: Buffer, before: number): string {
  const skipped = (3 - before) % 3;
  const whole = bytes.subarray(skipped, bytes.length - ((bytes.length - skipped) % 3));
  return whole.toString("base64");
}

/** Texts to search for: each spelling of each secret, with its name. */
export function soughtIn(secrets: Planted[]): Map<string, string> {
  const all = secrets.flatMap(({ name, value }) =>
    Object.entries(spellings(value)).flatMap(([way, text]): [string, string][] => [
      [text, `${name} (${way})`],
      [text.replaceAll("+", "-").replaceAll("/", "_"), `${name} (${way}, for URLs)`],
    ]),
  );
  // The first spelling names it: most leave a plain secret unchanged.
  return new Map(all.reverse());
}

/** The secrets found in a text: `the token (base64 at 1) in stderr of …`. */
export function leaks(sought: Map<string, string>, text: string, where: string): string[] {
  // Some programs break base64 into lines.
  const joined = text.replace(/(?<=[A-Za-z0-9+/]{60})\r?\n/g, "");
  return [...sought].flatMap(([form, what]) => (joined.includes(form) ? [`${what} in ${where}`] : []));
}
