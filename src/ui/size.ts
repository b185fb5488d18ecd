const units = ["B", "KB", "MB", "GB", "TB", "PB"] as const;
const step = 1024;

/** Bytes for a person, in steps of 1024 as in `free -h` and `df -h`: "512 B", "23.5 GB". */
export function size(bytes: number): string {
  let value = Math.max(0, bytes);
  let unit = 0;
  // A value that rounds up to 1024 uses the next unit: "1 MB", not "1024 KB".
  while (rounded(value) >= step && unit < units.length - 1) {
    value /= step;
    unit++;
  }
  return `${rounded(value)} ${units[unit]}`;
}

export const megabytes = (count: number): string => size(count * step * step);
const rounded = (value: number): number => Math.round(value * 10) / 10;
