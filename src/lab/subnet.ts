import { Fault } from "../errors.js";

/** Labs use 198.18.0.0/16, reserved for tests (RFC 2544): they hide no real network. Each has a /24: its third byte. */
export const network = (subnet: number): string => `198.18.${subnet}.0/24`;
export const gateway = (subnet: number): string => `198.18.${subnet}.1`;
export const address = (subnet: number, host: number): string => `198.18.${subnet}.${10 + host}`;
export const isLabAddress = (text: string): boolean => /^198\.18\.\d+\.\d+$/.test(text);

/** The first subnet that overlaps no address or route of this machine. */
export function freeSubnet(known: string[], recorded: number[]): number {
  const ranges = known.flatMap((text) => range(text) ?? []);
  for (let subnet = 1; subnet <= 254; subnet++) {
    const wanted = range(network(subnet));
    if (!wanted || recorded.includes(subnet)) continue;
    if (!ranges.some((other) => other.first <= wanted.last && wanted.first <= other.last)) return subnet;
  }
  throw new Fault("local-setup", "there is no free subnet for another lab", {
    why: "every part of 198.18.0.0/16 is used by a lab, an address or a route of this machine",
    next: "clm lab status",
  });
}

function range(text: string): { first: number; last: number } | undefined {
  const [, a, b, c, d, bits] = /^(\d+)\.(\d+)\.(\d+)\.(\d+)(?:\/(\d+))?$/.exec(text) ?? [];
  if (a === undefined) return undefined;
  const size = 2 ** (32 - Number(bits ?? 32));
  const number = [a, b, c, d].reduce((sum, part) => sum * 256 + Number(part), 0);
  const first = Math.floor(number / size) * size;
  return { first, last: first + size - 1 };
}

/** Every IPv4 network in the output of `ip -json address` and `ip -json route`. */
export function knownNetworks(addressJson: string, routeJson: string): string[] {
  const links = JSON.parse(addressJson || "[]") as { addr_info?: { local?: string; prefixlen?: number }[] }[];
  const routes = JSON.parse(routeJson || "[]") as { dst?: string }[];
  return [
    ...links.flatMap((link) => link.addr_info ?? []).map((info) => `${info.local}/${info.prefixlen}`),
    ...routes.flatMap((route) => (route.dst && route.dst !== "default" ? route.dst : [])),
  ];
}
