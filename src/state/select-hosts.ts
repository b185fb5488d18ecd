import type { Label } from "../names.js";
import { isGlob, matchesPattern } from "../text/wildcard.js";
import { type Host, hasLabels, noHost } from "./hosts.js";

/**
 * The hosts that match any of the patterns (`wolf-i`, `lab-*`, `gpu-?`) and have all of the labels, in the fleet's order.
 * No pattern means any name. A pattern that matches nothing is a fault: it is usually a typing error.
 */
export function selectHosts(
  hosts: readonly Host[],
  patterns: readonly string[],
  labels: readonly Label[] = [],
): Host[] {
  for (const pattern of patterns) {
    if (!hosts.some((host) => matchesPattern(pattern, host.name))) {
      const what = isGlob(pattern) ? "no host's name matches" : "no host is called";
      throw noHost(hosts, `${what} '${pattern}'`, pattern);
    }
  }
  const selected = hosts
    .filter(({ name }) => patterns.length === 0 || patterns.some((pattern) => matchesPattern(pattern, name)))
    .filter(hasLabels(labels));
  if (selected.length === 0 && labels.length > 0) {
    const wanted = labels.map((label) => label.join("=")).join(" and ");
    throw noHost(hosts, `no host${patterns.length > 0 ? " of these" : ""} has the label ${wanted}`);
  }
  return selected;
}
