import { isSecretMember, redactedMark, redactSecrets } from "../../secret-shapes.js";
import { objectFrom } from "../../text/json-object.js";
import { mapTexts } from "./texts.js";

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

  function redacted(text: string, depth: number): string {
    const value = depth < maxDepth ? objectFrom(text) : undefined;
    if (value === undefined) return ofText(text);
    const ofMember = (each: string, member: string) =>
      each !== "" && isSecretMember(member) ? redactedMark : redacted(each, depth + 1);
    const [before, after] = [JSON.stringify(value), JSON.stringify(mapTexts(value, ofMember, ofText))];
    // Without secrets the text keeps its formatting.
    return before === after ? text : after;
  }

  return (text) => redacted(text, 0);
}
