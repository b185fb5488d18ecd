const units = ["B", "KB", "MB", "GB", "TB", "PB"] as const;
const step = 1024;

/** Bytes as a person says them, in steps of 1024 as `free -h` and `df -h` do: "512 B", "23.5 GB". */
export function size(bytes: number): string {
  let value = Math.max(0, bytes);
  let unit = 0;
  // What rounds up to 1024 belongs to the next unit: one byte less than 1 MB is "1 MB", not "1024 KB".
  while (rounded(value) >= step && unit < units.length - 1) {
    value /= step;
    unit++;
  }
  return `${rounded(value)} ${units[unit]}`;
}

/** The same for what is counted in megabytes, as a host's memory and disks are. */
export const megabytes = (count: number): string => size(count * step * step);

const rounded = (value: number): number => Math.round(value * 10) / 10;
