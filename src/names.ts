import { Fault } from "./errors.js";

declare const brand: unique symbol;
type Branded<Brand extends string> = string & { readonly [brand]: Brand };

/** A checked name: only such a name can become a record. */
export type HostName = Branded<"HostName">;
export type AgentName = Branded<"AgentName">;
/** `HOST/NAME`: unique in the fleet. */
export type AgentRef = Branded<"AgentRef">;

// It becomes part of a secret's key (`<host>:<type>:<agent>`), a known_hosts line and file names.
const recordName = /^[a-z0-9][a-z0-9._-]{0,62}$/;

function recordNameFrom(text: string, owner: string): string {
  if (recordName.test(text)) return text;
  throw new Fault("bad-input", `'${text}' cannot be a ${owner}'s name`, {
    why: "a name is 1 to 63 of a-z 0-9 . _ - and starts with a letter or digit",
  });
}

export const hostNameFrom = (text: string): HostName => recordNameFrom(text, "host") as HostName;
export const providerNameFrom = (text: string): string => recordNameFrom(text, "provider");

// An agent's name is its Unix user's; Debian's useradd allows this, and a leading digit, which clm does not.
const agentName = /^[a-z][a-z0-9-]{0,30}$/;

export function agentNameFrom(text: string): AgentName {
  if (agentName.test(text) && !text.endsWith("-")) return text as AgentName;
  throw new Fault("bad-input", `'${text}' cannot be an agent's name`, {
    why: "it becomes a Unix user: 1 to 31 of a-z 0-9 -, starting with a letter and not ending with -",
  });
}

/** Text that looks like a key is no name: it may be one, typed in the wrong place, and is not repeated. */
export const isGatewayKeyName = (text: string): boolean => recordName.test(text) && !text.startsWith("clm_");

export function gatewayKeyNameFrom(text: string): string {
  if (isGatewayKeyName(text)) return text;
  const what = text.startsWith("clm_") ? "that cannot be" : `'${text}' cannot be`;
  throw new Fault("bad-input", `${what} a gateway key's name`, {
    why: "a name is 1 to 63 of a-z 0-9 . _ -, starts with a letter or digit and not with clm_",
  });
}

const labelKey = /^[a-z0-9][a-z0-9._/-]{0,62}$/i;
const labelValue = /^[a-z0-9._-]{0,63}$/i;
export type Label = [key: string, value: string];

/** `k=v` as the user types it. */
function labelFrom(text: string): Label {
  const at = text.indexOf("=");
  const key = text.slice(0, at);
  const value = text.slice(at + 1);
  if (at > 0 && labelKey.test(key) && labelValue.test(value)) return [key, value];
  throw new Fault("bad-input", `'${text}' is not a label`, {
    why:
      at > 0
        ? "key and value are up to 63 letters, digits and . _ - (the key / too)"
        : "a label is written key=value, as rack=b2",
  });
}

export const labelsFrom = (texts: string[]): Label[] => texts.map(labelFrom);

/** lab-2 before lab-10. Not `localeCompare`, whose first call costs a tenth of our start-up. */
export function byName(a: { name: string }, b: { name: string }): number {
  const [left, right] = [a.name, b.name].map((name) => name.replace(/\d+/g, (digits) => digits.padStart(12, "0")));
  return left === right ? 0 : (left ?? "") < (right ?? "") ? -1 : 1;
}
