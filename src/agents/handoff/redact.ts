import { isSecretMember, redactedMark, redactSecrets } from "../../secret-shapes.js";
import { objectFrom } from "../../text/json-object.js";

const maxDepth = 8;

/**
 * Replaces everything written like a secret, and clm's stored secrets by `redactStored`. JSON, the usual output of a
 * tool, is redacted member by member, so that escapes in it hide nothing.
 */
export function redacting(redactStored: (text: string) => string): (text: string) => string {
  function ofText(text: string): string {
    // The marks themselves are left alone: a password may be the word `secret`.
    return redactSecrets(text)
      .split(redactedMark)
      .map((part) => redactStored(part))
      .join(redactedMark);
  }

  function ofValue(value: unknown, depth: number): unknown {
    if (typeof value === "string") return redacted(value, depth + 1);
    if (Array.isArray(value)) return value.map((each) => ofValue(each, depth));
    if (typeof value !== "object" || value === null) return value;
    const members = Object.entries(value).map(([member, each]) => {
      const isSecret = isSecretMember(member) && typeof each === "string" && each !== "";
      return [ofText(member), isSecret ? redactedMark : ofValue(each, depth)];
    });
    return Object.fromEntries(members);
  }

  function redacted(text: string, depth: number): string {
    const value = depth < maxDepth ? objectFrom(text) : undefined;
    if (value === undefined) return ofText(text);
    const [before, after] = [JSON.stringify(value), JSON.stringify(ofValue(value, depth))];
    // Without secrets the text keeps its formatting.
    return before === after ? text : after;
  }

  return (text) => redacted(text, 0);
}
