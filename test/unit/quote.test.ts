import { spawnSync } from "node:child_process";
import fc from "fast-check";
import { afterAll, describe, expect, it } from "vitest";
import { quote, sh } from "../../src/quote.js";
import { localShells } from "./remote/operations/local-shell.js";

const { shells, close } = localShells();
afterAll(close);

const hostile = fc.oneof(
  fc.string({ unit: fc.constantFrom(..."'\"\\`$(){}[]<>|&;*?!#~=%^-+ \n\r\tab0\x01\x7f\x80\x81\x88ÿü🜛") }),
  fc.string({ unit: "binary" }).map((text) => text.replaceAll("\0", "")),
  fc.constantFrom(
    "",
    " ",
    "'",
    "''",
    "\\",
    "\\'",
    "'\\''",
    "$(id)",
    "`id`",
    "-n",
    "--",
    "~",
    "~root",
    "*",
    "\n",
    "a\n",
    "!!",
    "=x",
    "%1",
  ),
);

describe.each(shells)("under $name", (shell) => {
  /** What the shell makes of the text, given to it as converge gives its script. */
  const wordsFrom = (text: string) => {
    const run = `eval "$(dd bs=${Buffer.byteLength(text)} count=1 iflag=fullblock status=none)"`;
    const { stdout, stderr } = spawnSync(shell.sh, ["-c", run], { input: text });
    expect(stderr.toString()).toBe("");
    return stdout.toString().split("\0").slice(0, -1);
  };

  it("any word survives quoting", () => {
    const many = fc.array(hostile, { minLength: 1, maxLength: 800, size: "max" });
    const check = (words: string[]) => {
      expect(wordsFrom(sh`printf '%s\0' ${words}`)).toEqual(words);
    };
    fc.assert(fc.property(many, check), { numRuns: 10 });
  });

  it("also as the text of another shell", () => {
    const words = fc.sample(hostile, 300);
    expect(wordsFrom(sh`${shell.sh} -c ${sh`printf '%s\0' ${words}`}`)).toEqual(words);
  });
});

describe("shell text", () => {
  it.each([
    ["plain", "plain"],
    ["/home/x/.env", "/home/x/.env"],
    ["", "''"],
    ["it's", "'it'\\''s'"],
    ["a\\b", "'a'\\\\'b'"],
    ["no!", "'no'\\!''"],
    ["A=1", "'A=1'"],
  ])("%j is written %s", (word, text) => expect(quote(word)).toBe(text));

  it("keeps the literal parts unchanged", () => {
    expect(sh`printf '%s\n' ${1} ${["a b", "c"]} ${[]}>&2`).toBe("printf '%s\\n' 1 'a b' c >&2");
  });

  it.each([["a\0b"], ["\ud800"], ["x\udc00y"]])("refuses %j, which no command can get", (word) => {
    expect(() => quote(word)).toThrow(expect.objectContaining({ fault: "bad-input" }));
  });
});
