import { describe, expect, it } from "vitest";
import { editorWords, wordsIn } from "../../../../../src/flows/agent/memory/editor.js";

describe("the words of a command line", () => {
  it.each([
    ["vi", ["vi"]],
    ["  code   --wait ", ["code", "--wait"]],
    ["'/opt/My Editor/bin/edit' -n", ["/opt/My Editor/bin/edit", "-n"]],
    ['"/opt/My Editor/edit" "a \\"b\\" $HOME \\$x \\n"', ["/opt/My Editor/edit", 'a "b" $HOME $x \\n']],
    ["/opt/My\\ Editor/edit", ["/opt/My Editor/edit"]],
    ["emacsclient -c -a ''", ["emacsclient", "-c", "-a", ""]],
    ["a'b'\"c\"d", ["abcd"]],
    ["vi; rm -rf $(x) `y` | z", ["vi;", "rm", "-rf", "$(x)", "`y`", "|", "z"]],
    ["", []],
    ["a\tb\nc", ["a", "b", "c"]],
  ])("%j", (line, words) => {
    expect(wordsIn(line)).toEqual(words);
  });

  it.each(["'open", 'a "open', "a\\"])("%j has no end", (line) => {
    expect(wordsIn(line)).toBeUndefined();
  });
});

describe("the editor", () => {
  it("is $VISUAL, then $EDITOR, then vi", () => {
    expect(editorWords({ VISUAL: "code --wait", EDITOR: "nano" })).toEqual(["code", "--wait"]);
    expect(editorWords({ VISUAL: " ", EDITOR: "nano -w" })).toEqual(["nano", "-w"]);
    expect(editorWords({})).toEqual(["vi"]);
  });

  it("is named when it makes no sense", () => {
    expect(() => editorWords({ EDITOR: "vi '" })).toThrow("$EDITOR cannot be read as a command");
  });
});
