import { isLabAddress, isLabName } from "../../lab/lab.js";
import type { Host } from "../../state/hosts.js";
import { keyPath } from "../keypath.js";

/**
 * The lab a host was added by, or undefined for a host of the user's own. The label alone proves nothing, because anyone
 * may set it: a lab's host also is where only labs are, and logged in to as only a lab's is. Its name may be any.
 */
export function labOf({ address, identity, labels: { lab } }: Host, configDir: string): string | undefined {
  if (lab === undefined || !isLabName(lab)) return undefined;
  return isLabAddress(address) && identity === keyPath(configDir, "lab") ? lab : undefined;
}
