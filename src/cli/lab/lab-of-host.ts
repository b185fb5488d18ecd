import { keyPath } from "../../flows/keypath.js";
import { isLabAddress, isLabName } from "../../lab/lab.js";
import type { Host } from "../../state/hosts.js";

/** Undefined for the user's own host. Anyone may set the label and rename a host: address and key must be a lab's. */
export function labOf({ address, identity, labels: { lab } }: Host, configDir: string): string | undefined {
  if (lab === undefined || !isLabName(lab)) return undefined;
  return isLabAddress(address) && identity === keyPath(configDir, "lab") ? lab : undefined;
}
