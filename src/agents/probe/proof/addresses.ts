// In /proc/net/tcp and tcp6 the kernel writes each group of four bytes in the machine's order: 127.0.0.1 is 0100007F.

export const isLoopback = (hex: string): boolean =>
  /^[0-9A-F]{6}7F$/.test(hex) ||
  hex === "00000000000000000000000001000000" ||
  /^0000000000000000FFFF0000[0-9A-F]{6}7F$/.test(hex);

/** `127.0.0.1:8642`, `[::1]:8642` */
export const socketText = (hex: string, port: number): string =>
  `${hex.length > 8 ? `[${addressText(hex)}]` : addressText(hex)}:${port}`;

export function addressText(hex: string): string {
  const bytes = (hex.match(/.{8}/g) ?? []).flatMap((group) => (group.match(/../g) ?? []).reverse());
  if (bytes.length === 4) return bytes.map((byte) => Number.parseInt(byte, 16)).join(".");
  const groups = bytes.join("").match(/.{4}/g) ?? [];
  // A URL has the shortest form.
  return URL.canParse(`http://[${groups.join(":")}]`)
    ? new URL(`http://[${groups.join(":")}]`).hostname.slice(1, -1)
    : "another address";
}
