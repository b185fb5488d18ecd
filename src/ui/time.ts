const units = [
  ["d", 86_400],
  ["h", 3_600],
  ["m", 60],
] as const;

/** A duration for a person, rounded down: "45s", "12m", "5h", "3d". */
export function duration(milliseconds: number): string {
  const seconds = Math.max(0, Math.floor(milliseconds / 1000));
  for (const [unit, length] of units) {
    if (seconds >= length) return `${Math.floor(seconds / length)}${unit}`;
  }
  return `${seconds}s`;
}

/** How long ago something was; undefined without a valid date. */
export function age(then: Date | string | undefined, now: Date): string | undefined {
  if (then === undefined) return undefined;
  const time = new Date(then).getTime();
  return Number.isNaN(time) ? undefined : duration(now.getTime() - time);
}

/** `2026-01-31 08:00:00`, in UTC like all output of clm. */
export const clock = (time: string): string => time.replace("T", " ").replace(/\.\d+Z$/, "");
