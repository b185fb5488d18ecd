import { Fault } from "../../errors.js";

/** What a unit file can say: nothing that ends a line, and nothing that is no text. */
function writable(text: string): string {
  if (!/\p{Cc}|\p{Surrogate}|\p{Noncharacter_Code_Point}/u.test(text)) return text;
  throw new Fault("bad-input", `${JSON.stringify(text)} cannot be written to a unit file`, {
    why: "it has a character in it that is no text",
  });
}

// A % begins what the manager fills in, in every directive; doubled, it is one.
const literal = (text: string): string => writable(text).replaceAll("%", "%%");

/** One word of a directive that takes several, as `Environment=` and `BindPaths=`; a home has no colon in it. */
export function unitWord(text: string): string {
  const word = literal(text);
  return /^[A-Za-z0-9_./:@%+,=-]+$/.test(word) ? word : `"${word.replace(/[\\"]/g, "\\$&")}"`;
}

/** One argument of a command. There a dollar is filled in too, as the shell does it; in the program's path it is not. */
export const unitArgument = (text: string): string => unitWord(text.replaceAll("$", "$$$$"));

/**
 * A path that is all a directive has, as of `WorkingDirectory=`, where quotes would be a part of it. systemd takes no
 * program whose path has one (seen with 252 and 257), so none of an agent's may.
 */
export function unitPath(path: string): string {
  if (/^\/[^"'\\]*[^\s"'\\]$/.test(path)) return literal(path);
  throw new Fault("bad-input", `${JSON.stringify(path)} cannot be written to a unit file as a path`, {
    why: "it should begin with /, not end with a space, and have no quote or backslash in it",
  });
}
