import { Fault } from "../../errors.js";

/** Checks of names and paths on a host. Each returns its argument or throws `bad-input`. */

function matching(pattern: RegExp, what: string, rule: string): (text: string) => string {
  return (text) => {
    if (pattern.test(text)) return text;
    throw new Fault("bad-input", `${JSON.stringify(text)} cannot be ${what}`, { why: rule });
  };
}

export const userName = matching(/^[A-Za-z_][\w.-]{0,31}$/, "a user's name", "a name is 1 to 32 of a-z 0-9 _ . -");
export const groupName = matching(/^[A-Za-z_][\w.-]{0,31}$/, "a group's name", "a name is 1 to 32 of a-z 0-9 _ . -");
export const packageName = matching(/^[a-z0-9][a-z0-9+.-]+$/, "a package's name", "a name is of a-z 0-9 + . -");
export const jobName = matching(/^[a-z0-9][a-z0-9_.-]{0,99}$/, "a job's name", "a name is 1 to 100 of a-z 0-9 _ . -");
export const unitName = matching(
  /^[A-Za-z0-9_][A-Za-z0-9:_.@-]{0,199}\.(service|socket|timer|path|target|slice|mount)$/,
  "a unit's name",
  "a unit is named like clm-agent.service",
);
export const variableName = matching(/^[A-Za-z_][A-Za-z0-9_]*$/, "a variable's name", "a name is of A-Z a-z 0-9 _");

// /etc/passwd is lines of fields with colons between them.
export const passwdField = matching(
  /^[^:\p{Cc}]*$/u,
  "a field of /etc/passwd",
  "it holds a colon or a control character",
);

export function mode(value: number): number {
  if (Number.isInteger(value) && value >= 0 && value <= 0o7777) return value;
  throw new Fault("bad-input", `${value} cannot be a mode`, { why: "a mode is written like 0o640" });
}

/** The host counts whole seconds; less than one is most likely seconds taken for milliseconds. */
export function timeout(milliseconds: number): number {
  if (milliseconds >= 1000 && Number.isFinite(milliseconds)) return milliseconds;
  throw new Fault("bad-input", `${milliseconds} cannot be a timeout`, { why: "it is milliseconds, at least 1000" });
}

/** A path that means one place whatever the working directory, and has one spelling. */
export function absolutePath(path: string): string {
  const parts = path.split("/");
  const plain = parts.shift() === "" && parts.every((part) => part !== "" && part !== "." && part !== "..");
  if (plain && !path.includes("\0")) return path;
  throw new Fault("bad-input", `${JSON.stringify(path)} cannot be a path on a host`, {
    why: "a path starts with / and has no '..', '.', '//' or / at its end",
  });
}

// Besides everything directly under the root.
const keep = [
  /^\/(boot|dev|proc|sys)\//,
  /^\/(usr|var|lib\w*)\/[^/]+$/,
  /^\/(bin|sbin)\//,
  /^\/etc\/(systemd|ssh|ssl|pam\.d|apt|cron\.d|sudoers\.d|security|skel|network|profile\.d)$/,
  /^\/etc\/(passwd|shadow|group|gshadow|sudoers|fstab|hosts|hostname|resolv\.conf|nsswitch\.conf|os-release)$/,
  /^\/etc\/systemd\/(system|user)$/,
  /^\/root\/\.ssh$/,
];

/** Only a path that clm may have made: removing it cannot break the host. */
export function removablePath(path: string): string {
  absolutePath(path);
  if (path.split("/").length > 2 && !keep.some((pattern) => pattern.test(path))) return path;
  throw new Fault("bad-input", `clm does not remove ${JSON.stringify(path)}`, { why: "the host itself lives there" });
}
