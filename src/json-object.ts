/** The object, or the list, that a text spells as JSON; nothing when it spells none. Whoever wrote it may have written anything. */
export function objectFrom<T extends object>(text: string): T | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? (value as T) : undefined;
  } catch {
    return undefined;
  }
}
