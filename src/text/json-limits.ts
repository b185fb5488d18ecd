/** Limits for a JSON text. Parsing costs memory and time per value, and every byte can begin one. */
export interface JsonLimits {
  depth: number;
  /** Arrays, objects and members: each costs many times its bytes. */
  nodes: number;
  /** Elements of arrays and members of objects. */
  values: number;
}

/** Far above real messages, and parsed in about 100 ms at worst. */
export const usualLimits: JsonLimits = { depth: 128, nodes: 100_000, values: 500_000 };
export type JsonExcess = "too-deep" | "too-many";
const [quote, comma, colon, backslash] = [0x22, 0x2c, 0x3a, 0x5c];
const [openList, closeList, openMap, closeMap] = [0x5b, 0x5d, 0x7b, 0x7d];

/** The limit that a text exceeds, found in one pass. Does not check whether it is JSON. */
export function jsonExcess(text: string, limits: JsonLimits = usualLimits): JsonExcess | undefined {
  // Too short to exceed any limit.
  if (text.length < limits.depth) return undefined;
  let depth = 0;
  let nodes = 0;
  let values = 0;
  for (let at = 0; at < text.length; at++) {
    switch (text.charCodeAt(at)) {
      case quote:
        at = stringEnd(text, at);
        break;
      case openList:
      case openMap:
        if (++depth > limits.depth) return "too-deep";
        if (++nodes > limits.nodes) return "too-many";
        break;
      case closeList:
      case closeMap:
        depth--;
        break;
      case colon:
        if (++nodes > limits.nodes) return "too-many";
        break;
      case comma:
        if (++values > limits.values) return "too-many";
        break;
    }
  }
  return undefined;
}

// Characters after which indexOf is faster than a loop.
const short = 64;

function stringEnd(text: string, begin: number): number {
  for (let from = begin + 1; from < text.length; ) {
    for (const until = Math.min(from + short, text.length); from < until; from++) {
      const code = text.charCodeAt(from);
      if (code === quote) return from;
      if (code === backslash) from++;
    }
    const next = text.indexOf('"', from);
    if (next < 0) return text.length;
    // Escaped by an odd number of backslashes.
    let back = next;
    while (back > from && text.charCodeAt(back - 1) === backslash) back--;
    if ((next - back) % 2 === 0) return next;
    from = next + 1;
  }
  return text.length;
}
