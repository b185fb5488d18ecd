/** Versions are dates with an optional counter: `2026.5.7`, `2026.5.29.2`. A suffix (`+standin`) is ignored in comparisons. */
const version = /^\d{4}(\.\d+){2,3}(\+[a-z0-9]+)?$/;
export const isVersion = (text: string): boolean => version.test(text);

/** The version without its suffix: the name of its tag. */
export const plainVersion = (text: string): string => text.replace(/\+.*$/, "");

export function compareVersions(a: string, b: string): number {
  const [left, right] = [a, b].map((text) => plainVersion(text).split(".").map(Number));
  for (let at = 0; at < 4; at++) {
    const difference = (left?.[at] ?? 0) - (right?.[at] ?? 0);
    if (difference !== 0) return difference;
  }
  return 0;
}

const bound = /^(>=|<)(\d{4}(?:\.\d+){2,3})$/;

/** A range is `*`, or bounds that all hold: `>=2026.5.29 <2026.7.1`. */
export const isRange = (text: string): boolean => text === "*" || text.split(" ").every((part) => bound.test(part));

export function inRange(version: string, range: string): boolean {
  if (range === "*") return true;
  return range.split(" ").every((part) => {
    const [, sign, edge = ""] = bound.exec(part) ?? [];
    const order = compareVersions(version, edge);
    return sign === ">=" ? order >= 0 : order < 0;
  });
}
