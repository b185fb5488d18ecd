/** A value as a program reads it, with its final newline. */
export type Structured = (value: unknown) => string;

export const json: Structured = (value) => `${JSON.stringify(value ?? null, null, 2)}\n`;

/** One line of a stream of them. */
export const jsonLine: Structured = (value) => `${JSON.stringify(value)}\n`;

/** A line for each of a list. */
export const jsonLines: Structured = (values) => (values as unknown[]).map(jsonLine).join("");

/** The writer of a format. YAML is loaded when it is asked for, which is rarely. */
export async function structured(format: "json" | "yaml"): Promise<Structured> {
  if (format === "json") return json;
  const { stringify } = await import("../yaml.js");
  // Lines of any length: a folded fingerprint or path cannot be found with grep.
  return (value) => stringify(value ?? null, { lineWidth: 0 });
}
