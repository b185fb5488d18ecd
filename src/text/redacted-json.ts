type Redact = (text: string) => string;

/** Members that programs compare: a secret may be a word such as `stop`, and redacting it would change the meaning. */
const compared = new Set(["finish_reason", "role", "object", "type", "status"]);

/** Member names of our own and of known APIs. Any other name may be a secret itself. */
const plainName = /^[a-z][a-z0-9_]{0,39}$/;

/** A JSON value with secrets redacted in its texts. Its structure is unchanged. */
export function redactedValue<T>(value: T, redact: Redact): T {
  const clean = (part: unknown, name: string): unknown => {
    if (typeof part === "string") return compared.has(name) && plainName.test(part) ? part : redact(part);
    // A long number may be an account, a phone number or a PIN.
    if (typeof part === "number")
      return Math.abs(part) >= 1e7 && redact(String(part)) !== String(part) ? redact(String(part)) : part;
    if (Array.isArray(part)) return part.map((each) => clean(each, name));
    if (typeof part !== "object" || part === null) return part;
    // A date, for example.
    if ("toJSON" in part && typeof part.toJSON === "function") return clean(part.toJSON(), name);
    return Object.fromEntries(
      Object.entries(part).map(([key, each]) => [plainName.test(key) ? key : redact(key), clean(each, key)]),
    );
  };
  return clean(value, "") as T;
}

/** A body with secrets redacted. JSON is parsed first: redacting a secret such as `{` would make text unreadable. */
export function redactedBody(text: string, redact: Redact): string {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value !== "object" || value === null) return redact(text);
    return JSON.stringify(redactedValue(value, redact));
  } catch {
    // Not JSON, or nested too deeply.
    return redact(text);
  }
}
