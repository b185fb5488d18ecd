import { Fault } from "../../errors.js";

function writable(text: string): string {
  if (!/\p{Cc}|\p{Surrogate}|\p{Noncharacter_Code_Point}/u.test(text)) return text;
  throw new Fault("bad-input", `${JSON.stringify(text)} cannot be written to a unit file`, {
    why: "it contains a control character or an invalid one",
  });
}

// % starts a specifier in every directive; %% is a literal one.
const literal = (text: string): string => writable(text).replaceAll("%", "%%");

/** One word of a directive that takes several, such as `Environment=` or `BindPaths=`. */
export function unitWord(text: string): string {
  const word = literal(text);
  return /^[A-Za-z0-9_./:@%+,=-]+$/.test(word) ? word : `"${word.replace(/[\\"]/g, "\\$&")}"`;
}

/** One argument of a command, where systemd also expands `$`; in the program's path it does not. */
export const unitArgument = (text: string): string => unitWord(text.replaceAll("$", "$$$$"));

/** A path, as in `WorkingDirectory=`, where quotes would be part of it. systemd 252 and 257 run no path with one. */
export function unitPath(path: string): string {
  if (/^\/[^"'\\]*[^\s"'\\]$/.test(path)) return literal(path);
  throw new Fault("bad-input", `${JSON.stringify(path)} cannot be written to a unit file as a path`, {
    why: "it should begin with /, not end with a space, and contain no quote or backslash",
  });
}
