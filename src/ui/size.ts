const units = ["B", "KB", "MB", "GB", "TB", "PB"] as const;

/** Bytes as a person says them, in steps of 1000 as disks are sold: "512 B", "15.5 GB". */
export function size(bytes: number): string {
  let value = Math.max(0, bytes);
  let unit = 0;
  // What rounds up to 1000 belongs to the next unit: 999 960 B is "1.0 MB", not "1000.0 KB".
  while (value >= (unit === 0 ? 1000 : 999.95) && unit < units.length - 1) {
    value /= 1000;
    unit++;
  }
  return `${unit === 0 ? Math.floor(value) : value.toFixed(1)} ${units[unit]}`;
}
