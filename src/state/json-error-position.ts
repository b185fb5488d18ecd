/** Where a text stops being JSON, as an editor counts. The parser's own message may quote the text, secrets included. */
export function jsonErrorPosition(text: string): { line: number; column: number } {
  const before = text.slice(0, breakingOffset(text));
  const line = before.split("\n").length;
  return { line, column: before.length - before.lastIndexOf("\n") };
}

const space = /[ \t\n\r]*/y;
// biome-ignore lint/suspicious/noControlCharactersInRegex: JSON forbids them inside a string.
const string = /"(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"/y;
const word = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null/y;

function breakingOffset(text: string): number {
  let at = 0;
  /** Passes a token, if it comes next, and the space after it. */
  const pass = (token: RegExp): boolean => {
    token.lastIndex = at;
    if (!token.test(text)) return false;
    space.lastIndex = token.lastIndex;
    space.test(text);
    at = space.lastIndex;
    return true;
  };
  const passKey = (): boolean => pass(string) && pass(/:/y);

  /** How the lists and objects that have begun have to end. */
  const ends: string[] = [];
  pass(space);
  for (;;) {
    if (pass(/\{/y)) {
      ends.push("}");
      if (text[at] !== "}") {
        if (passKey()) continue;
        return at;
      }
    } else if (pass(/\[/y)) {
      ends.push("]");
      if (text[at] !== "]") continue;
    } else if (!pass(string) && !pass(word)) return at;

    while (ends.length > 0 && text[at] === ends.at(-1)) {
      ends.pop();
      pass(/[\]}]/y);
    }
    if (ends.length === 0 || !pass(/,/y)) return at;
    if (ends.at(-1) === "}" && !passKey()) return at;
  }
}
