/** An address of /proc/net/tcp or tcp6 as text. The kernel writes each group of four bytes in the machine's order. */
export function addressText(hex: string): string {
  const bytes = (hex.match(/.{8}/g) ?? []).flatMap((group) => (group.match(/../g) ?? []).reverse());
  if (bytes.length === 4) return bytes.map((byte) => Number.parseInt(byte, 16)).join(".");
  const groups = bytes.join("").match(/.{4}/g) ?? [];
  // A URL has the shortest form.
  return URL.canParse(`http://[${groups.join(":")}]`)
    ? new URL(`http://[${groups.join(":")}]`).hostname.slice(1, -1)
    : "another address";
}
