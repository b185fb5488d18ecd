/** A value as a program reads it, with its final newline. */
export type Serializer = (value: unknown) => string;

export const json: Serializer = (value) => `${JSON.stringify(value ?? null, null, 2)}\n`;

/** One line of a stream of them. */
export const jsonLine: Serializer = (value) => `${JSON.stringify(value)}\n`;

/** A line for each of a list. */
export const jsonLines: Serializer = (values) => (values as unknown[]).map(jsonLine).join("");

/** The writer of a format. YAML is loaded when it is asked for, which is rarely. */
export async function serializerFor(format: "json" | "yaml"): Promise<Serializer> {
  if (format === "json") return json;
  const { stringify } = await import("../text/yaml.js");
  // Lines of any length: a folded fingerprint or path cannot be found with grep.
  return (value) => stringify(value ?? null, { lineWidth: 0 });
}
