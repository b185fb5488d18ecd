import { lineDiff } from "../../../line-diff.js";
import type { Secret } from "../../../secret.js";
import { type Change, leavesIn, lineDigest, type Sides } from "./differences.js";
import { shownDiff } from "./shown-diff.js";

/** Hides what is known to be secret. */
type Redact = (text: string) => string;

/**
 * A change as closely as it may be told. Of a variable in `.env` there is a fingerprint: it is made with a salt that is
 * never shown, so that nobody can try what has it, and it is the same for the same line in one run only. Of config.yaml
 * and the unit there are values, but for what is secret or looks so: somebody may have put a key of his own there.
 */
export function withDetails(
  change: Change,
  sides: Sides & { service: string },
  { redact, secrets }: { redact: Redact; secrets: readonly Secret[] },
): Change {
  const { subject, salt } = sides;
  if (salt === "") return change;
  const { what, differences } = change;
  if (what === `file ${subject.places.env}`) return { ...change, details: differences.map(fingerprinted(sides)) };
  if (what === `file ${subject.places.config}`) return { ...change, details: differences.map(valued(sides, redact)) };
  const codex = [sides.codex?.config, sides.codex?.agents].find((each) => each && what === `file ${each.path}`);
  if (codex && differences.some((each) => /^(content|missing)/.test(each))) {
    const lines = shownDiff(codex.before ?? "", codex.text ?? "", { salt, secrets });
    return { ...change, details: [...differences.filter((each) => each !== "content"), ...lines] };
  }
  if (what !== `unit ${subject.unit}` || !differences.includes("content")) return change;
  const known = new Set(sides.service.split("\n"));
  const lines = lineDiff(sides.seen.service, sides.service).map(
    (line) => line.charAt(0) + (known.has(line.slice(1)) ? line.slice(1) : shownLine(line.slice(1), redact)),
  );
  return { ...change, details: [...differences.filter((each) => each !== "content"), ...lines] };
}

const short = (digest = ""): string => `${digest.slice(0, 6)}…`;

function fingerprinted({ seen, env, salt }: Sides): (difference: string) => string {
  const after = new Map(
    env
      .reveal()
      .split("\n")
      .map((line) => [line.split("=")[0] ?? "", lineDigest(salt, line)]),
  );
  return (difference) => {
    const [, sign, name = ""] = /^([+~-]) (.*)$/.exec(difference) ?? [];
    const [was, is] = [short(seen.variables.get(name)), short(after.get(name))];
    if (sign === "~") return `${difference} (${was} -> ${is})`;
    return sign ? `${difference} (${sign === "+" ? is : was})` : difference;
  };
}

function valued({ seen, config }: Sides, redact: Redact): (difference: string) => string {
  const [before, after] = [leavesIn(seen.config), leavesIn(config)];
  return (difference) => {
    const [, sign, path = ""] = /^([+~-]) (.*)$/.exec(difference) ?? [];
    if (!sign) return difference;
    const [was, is] = [before.get(path) ?? "", after.get(path) ?? ""];
    if (!isOpen(path, was, redact) || !isOpen(path, is, redact)) return difference;
    if (sign === "~") return `${difference} (${was} -> ${is})`;
    return `${difference} (${sign === "+" ? is : was})`;
  };
}

const secretName = /key|token|secret|passw|credential|auth|header|cookie|\benv\b/i;
/** A word nobody would type: a key, or a part of one. */
const opaque = /(?=[\w-]*\d)(?=[\w-]*[A-Za-z])[\w-]{20,}/;
const longest = 120;

/** A value that anybody may see, as far as can be told. */
const isOpen = (path: string, value: string, redact: Redact): boolean =>
  value.length <= longest &&
  redact(value) === value &&
  !secretName.test(path) &&
  !secretName.test(value) &&
  !opaque.test(value) &&
  !/\/\/[^/"]*@|\?/.test(value);

/** A line that is not ours, without what follows a name or stands for a secret in it. */
function shownLine(line: string, redact: Redact): string {
  if (/^\s*(Environment|SetCredential|LoadCredential)\w*\s*=/i.test(line)) return line.replace(/=.*/s, "=…");
  const without = redact(line).replace(
    new RegExp(`(\\S*(?:${secretName.source})\\S*?)([=: ]\\s*)\\S+`, "gi"),
    (_, name: string, between: string) => `${name}${between}…`,
  );
  return without
    .replace(new RegExp(opaque.source, "g"), "…")
    .replace(/\p{Cc}/gu, " ")
    .slice(0, 2 * longest);
}
