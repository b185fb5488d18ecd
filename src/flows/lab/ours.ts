import { splitHostName } from "../../lab/lab.js";
import type { Host } from "../../state/hosts.js";
import { keyPath } from "../keypath.js";

/**
 * The lab a host was added by, or undefined for a host of the user's own. The label alone proves nothing, because anyone
 * may set it: a lab's host is also called and logged in to as only a lab's is.
 */
export function labOf(host: Host, configDir: string): string | undefined {
  const lab = splitHostName(host.name)?.lab;
  return lab === host.labels.lab && host.identity === keyPath(configDir, "lab") ? lab : undefined;
}
