/** Whether a parsed value is an object with members: not null and not a list. */
export const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** `above` merged over `below`, record by record; anything else, lists too, is replaced. Neither is changed. */
export function mergeDeep(below: Record<string, unknown>, above: Record<string, unknown>): Record<string, unknown> {
  // Not by assignment: `__proto__` is a name like any other in a user's file.
  const result = new Map(Object.entries(below));
  for (const [key, value] of Object.entries(above)) {
    const under = result.get(key);
    result.set(key, isRecord(value) && isRecord(under) ? mergeDeep(under, value) : value);
  }
  return Object.fromEntries(result);
}
