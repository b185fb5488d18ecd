type Redact = (text: string) => string;

/**
 * Members that a program compares and no person reads. A secret may be any word: with `stop` or `error` taken out of them, an
 * answer would be judged as another.
 */
const compared = new Set(["finish_reason", "role", "object", "type", "status"]);

/** Our own names and those of the APIs we speak with. A member of another name may be anything, a secret too. */
const plainName = /^[a-z][a-z0-9_]{0,39}$/;

/** A value as JSON has them, with secrets taken out of its texts. What it is made of stays as it is. */
export function redactedValue<T>(value: T, redact: Redact): T {
  const clean = (part: unknown, name: string): unknown => {
    if (typeof part === "string") return compared.has(name) && plainName.test(part) ? part : redact(part);
    // A number of so many digits may be an account, a phone or a PIN.
    if (typeof part === "number")
      return Math.abs(part) >= 1e7 && redact(String(part)) !== String(part) ? redact(String(part)) : part;
    if (Array.isArray(part)) return part.map((each) => clean(each, name));
    if (typeof part !== "object" || part === null) return part;
    // A date, say: as it is written.
    if ("toJSON" in part && typeof part.toJSON === "function") return clean(part.toJSON(), name);
    return Object.fromEntries(
      Object.entries(part).map(([key, each]) => [plainName.test(key) ? key : redact(key), clean(each, key)]),
    );
  };
  return clean(value, "") as T;
}

/**
 * What somebody answered, without secrets. JSON is parsed first: a secret such as `{` or `message` taken out of the text
 * itself would leave something that nobody can read.
 */
export function redactedBody(text: string, redact: Redact): string {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value !== "object" || value === null) return redact(text);
    return JSON.stringify(redactedValue(value, redact));
  } catch {
    // No JSON, or nested deeper than a program can follow.
    return redact(text);
  }
}
