export type Serializer = (value: unknown) => string;
export const json: Serializer = (value) => `${JSON.stringify(value ?? null, null, 2)}\n`;

/** One line of a JSON stream. */
export const jsonLine: Serializer = (value) => `${JSON.stringify(value)}\n`;

export const jsonLines: Serializer = (values) => (values as unknown[]).map(jsonLine).join("");

/** The serializer of a format. YAML is loaded on demand. */
export async function serializerFor(format: "json" | "yaml"): Promise<Serializer> {
  if (format === "json") return json;
  const { stringify } = await import("../text/yaml.js");
  // No folding: a folded fingerprint or path cannot be found with grep.
  return (value) => stringify(value ?? null, { lineWidth: 0 });
}
