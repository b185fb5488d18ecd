import { keyPath } from "../../flows/keypath.js";
import { isLabAddress, isLabName } from "../../lab/lab.js";
import type { Host } from "../../state/hosts.js";

/**
 * The lab that added a host, or undefined for the user's own host. Anyone may set the label, so the address and the login
 * key must be a lab's too. The host may have been renamed.
 */
export function labOf({ address, identity, labels: { lab } }: Host, configDir: string): string | undefined {
  if (lab === undefined || !isLabName(lab)) return undefined;
  return isLabAddress(address) && identity === keyPath(configDir, "lab") ? lab : undefined;
}
