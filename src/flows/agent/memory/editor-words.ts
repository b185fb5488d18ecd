import { Fault } from "../../../errors.js";

export function editorWords(env: NodeJS.ProcessEnv): string[] {
  const variable = env.VISUAL?.trim() ? "VISUAL" : "EDITOR";
  const words = wordsIn(env[variable] ?? "");
  if (words) return words.length > 0 ? words : ["vi"];
  throw new Fault("bad-input", `$${variable} cannot be read as a command`, { why: "a quote in it is not closed" });
}

// A word consists of quoted text, escaped characters and plain text.
const piece = /'([^']*)'|"((?:[^"\\]|\\.)*)"|\\(.)|([^\s'"\\]+)/sy;

/** Splits a command line as a shell would, by quotes and backslashes only; undefined when it is incomplete. */
export function wordsIn(line: string): string[] | undefined {
  const words: string[] = [];
  let at = 0;
  while (at < line.length) {
    const blank = /\s*/y;
    blank.lastIndex = at;
    at += blank.exec(line)?.[0].length ?? 0;
    if (at === line.length) break;
    let word = "";
    while (at < line.length && !/\s/.test(line.charAt(at))) {
      piece.lastIndex = at;
      const found = piece.exec(line);
      if (!found) return undefined;
      const [all, single, double, escaped, bare] = found;
      word += single ?? double?.replace(/\\(["\\$`])/g, "$1") ?? escaped ?? bare ?? "";
      at += all.length;
    }
    words.push(word);
  }
  return words;
}
