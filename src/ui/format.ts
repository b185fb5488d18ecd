/** A value as a program reads it, with its final newline. */
export type Structured = (value: unknown) => string;

const json: Structured = (value) => `${JSON.stringify(value ?? null, null, 2)}\n`;

/** The writer of a format. YAML is loaded when it is asked for, which is rarely. */
export async function structured(format: "json" | "yaml"): Promise<Structured> {
  if (format === "json") return json;
  const { stringify } = await import("../yaml.js");
  // Lines of any length: a folded fingerprint or path cannot be found with grep.
  return (value) => stringify(value ?? null, { lineWidth: 0 });
}
