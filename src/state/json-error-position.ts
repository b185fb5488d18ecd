/** Where a text stops being JSON, as an editor counts. The parser's own message may quote the text, secrets included. */
export function jsonErrorPosition(text: string): { line: number; column: number } {
  const before = text.slice(0, breakingOffset(text));
  const line = before.split("\n").length;
  return { line, column: before.length - before.lastIndexOf("\n") };
}

const token =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: JSON forbids them inside a string.
  /[ \t\n\r]*(?:([{}[\],:])|"(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null)/y;

// The token that may come next. After `[` and `{` it may also be the end, after a comma it may not.
type ExpectedToken = "value" | "first value" | "first key" | "key" | "colon" | "comma or end" | "nothing";

function breakingOffset(text: string): number {
  const open: ("{" | "[")[] = [];
  let expected: ExpectedToken = "value";
  token.lastIndex = 0;
  for (;;) {
    const start = skipSpace(text, token.lastIndex);
    const match = token.exec(text);
    if (!match) return start;
    const next = step(match[1], text[start] === '"', expected, open);
    if (!next) return start;
    expected = next;
  }
}

function step(
  mark: string | undefined,
  isString: boolean,
  expected: ExpectedToken,
  open: ("{" | "[")[],
): ExpectedToken | undefined {
  const afterValue = (): ExpectedToken => (open.length > 0 ? "comma or end" : "nothing");
  const wantsValue = expected === "value" || expected === "first value";
  const wantsKey = expected === "key" || expected === "first key";
  if (mark === undefined) {
    if (wantsKey) return isString ? "colon" : undefined;
    return wantsValue ? afterValue() : undefined;
  }
  if (mark === "{" || mark === "[") {
    if (!wantsValue) return undefined;
    open.push(mark);
    return mark === "{" ? "first key" : "first value";
  }
  if (mark === ":") return expected === "colon" ? "value" : undefined;
  if (mark === ",") return expected === "comma or end" ? (open.at(-1) === "{" ? "key" : "value") : undefined;
  const opener = mark === "}" ? "{" : "[";
  const mayEnd = expected === "comma or end" || expected === (mark === "}" ? "first key" : "first value");
  if (!mayEnd || open.at(-1) !== opener) return undefined;
  open.pop();
  return afterValue();
}

function skipSpace(text: string, from: number): number {
  let at = from;
  while (at < text.length && " \t\n\r".includes(text[at] ?? "")) at++;
  return at;
}
