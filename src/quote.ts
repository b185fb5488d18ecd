import { Fault } from "./errors.js";

export type Word = string | number;

// Unquoted these mean themselves in every shell; note that `=`, `~`, `%` and `^` do not in zsh, csh or fish.
const plain = /^[A-Za-z0-9_./:@,+-]+$/;

// A NUL ends an argument early; half a surrogate pair has no UTF-8 and would arrive as another character.
const unsayable = /\0|\p{Surrogate}/u;

/** Whether a program can be given a text, as an argument or in a variable. */
export const isPassable = (text: string): boolean => !unsayable.test(text);

/**
 * One word of shell text that any shell reads back as exactly `word`. Quotes, backslashes and `!` stand outside the
 * single quotes, each behind a backslash: fish reads `'\\'` as one backslash and csh finds history in `'!'`.
 */
export function quote(word: Word): string {
  const text = String(word);
  if (!isPassable(text)) {
    throw new Fault("bad-input", `${JSON.stringify(text)} cannot be passed to a command`, {
      why: "it holds a NUL or half a character",
    });
  }
  if (plain.test(text)) return text;
  return `'${text.replace(/['\\!]/g, "'\\$&'")}'`;
}

/** Shell text with every value quoted: sh`chmod ${mode} ${paths}`. A list becomes its words. */
export function sh(text: TemplateStringsArray, ...values: (Word | readonly Word[])[]): string {
  return String.raw(text, ...values.map((value) => [value].flat().map(quote).join(" ")));
}
