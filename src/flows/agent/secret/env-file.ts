import { Fault } from "../../../errors.js";
import { Secret } from "../../../secret.js";

/** Accepts only lines that all readers of `.env` files read alike. A fault names the line, never its text. */
export function secretsIn(file: string, text: string): Map<string, Secret> {
  const found = new Map<string, Secret>();
  const lines = text.replace(/^\ufeff/, "").split(/\r?\n/);
  for (const [index, line] of lines.entries()) {
    if (/^\s*(#|$)/.test(line)) continue;
    const refuse = (why: string): never => {
      throw new Fault("bad-input", `${file} cannot be read`, { why: `line ${index + 1}: ${why}` });
    };
    const [, name = "", raw = ""] = /^\s*(?:export\s+)?([A-Za-z_][A-Za-z0-9_]*)=(.*)$/s.exec(line) ?? refuse(noLine);
    if (found.has(name)) refuse(`${name} is defined twice`);
    const value = valueIn(raw.trim(), refuse);
    if (value === "") refuse(`${name} is empty`);
    found.set(name, new Secret(value));
  }
  return found;
}

const noLine = "it is not NAME=VALUE";
type Refuse = (why: string) => never;

function valueIn(raw: string, refuse: Refuse): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are the point
  if (/[\u0000-\u0008\u000b-\u001f\u007f\ufffd]/.test(raw)) refuse("it holds a control character or is not UTF-8");
  const [, single, afterSingle] = /^'([^']*)'(.*)$/s.exec(raw) ?? [];
  const [, double, afterDouble] = /^"((?:[^"\\]|\\.)*)"(.*)$/s.exec(raw) ?? [];
  const after = afterSingle ?? afterDouble ?? "";
  if (!/^\s*(#.*)?$/s.test(after) || (after !== "" && !/^\s/.test(after)))
    refuse("something follows the closing quote");
  if (single !== undefined) return single.includes("\\") ? refuse(`${ambiguous} a backslash in single quotes`) : single;
  if (double !== undefined) return unescaped(double, refuse);
  if (/^['"]/.test(raw)) refuse("a quote is not closed; a value is on one line");
  const bare = raw.replace(/\s+#.*$/s, "");
  if (/[\s'"`$\\#]/.test(bare)) refuse(`${ambiguous} this; put the value in single quotes`);
  return bare;
}

const ambiguous = "readers of such files disagree about";

function unescaped(text: string, refuse: Refuse): string {
  if (/(^|[^\\])(\\\\)*[$`]/.test(text)) refuse(`${ambiguous} $ and \` in double quotes; use single quotes`);
  return text.replace(/\\(.)/gs, (_, char: string) =>
    '"\\$`'.includes(char) ? char : refuse(`${ambiguous} \\${/[a-z]/i.test(char) ? char : ""} in double quotes`),
  );
}
