import type { Secret } from "../../secret.js";
import { mayHoldSecret, mayNameSecret, nameHint, opaqueWord, replaceTokens, urlUserinfo } from "../../secret-shapes.js";
import { lineDiff } from "../../text/line-diff.js";
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
  const { resolved: agent, salt } = sides;
  if (salt === "") return change;
  const { what, differences } = change;
  if (what === `file ${agent.paths.env}`) return { ...change, details: differences.map(fingerprinted(sides)) };
  if (what === `file ${agent.paths.config}`) return { ...change, details: differences.map(valued(sides, redact)) };
  const codex = [sides.codex?.config, sides.codex?.agents].find((each) => each && what === `file ${each.path}`);
  if (codex && differences.some((each) => /^(content|missing)/.test(each))) {
    const lines = shownDiff(codex.before ?? "", codex.text ?? "", { salt, secrets });
    return { ...change, details: [...differences.filter((each) => each !== "content"), ...lines] };
  }
  if (what !== `unit ${agent.unit}` || !differences.includes("content")) return change;
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
    if (!isPublic(path, was, redact) || !isPublic(path, is, redact)) return difference;
    if (sign === "~") return `${difference} (${was} -> ${is})`;
    return `${difference} (${sign === "+" ? is : was})`;
  };
}

const maxLength = 120;

const isPublic = (path: string, value: string, redact: Redact): boolean =>
  value.length <= maxLength && redact(value) === value && !mayNameSecret(path) && !mayHoldSecret(value);

const namedValue = new RegExp(`(\\S*(?:${nameHint}|\\benv\\b)\\S*?)([=: ]\\s*)\\S+`, "gi");

/** A line that clm did not write, without anything that may be secret. */
function shownLine(line: string, redact: Redact): string {
  if (/^\s*(Environment|SetCredential|LoadCredential)\w*\s*=/i.test(line)) return line.replace(/=.*/s, "=…");
  return replaceTokens(redact(line), () => "…")
    .replace(urlUserinfo, "…")
    .replace(namedValue, "$1$2…")
    .replace(opaqueWord, "…")
    .replace(/\p{Cc}/gu, " ")
    .slice(0, 2 * maxLength);
}
