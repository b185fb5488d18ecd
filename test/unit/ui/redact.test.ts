import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Secret } from "../../../src/secret.js";
import { createRedactor, type Redactor } from "../../../src/ui/redact.js";

function hiding(...values: string[]): Redactor {
  const redactor = createRedactor();
  for (const value of values) redactor.hide(new Secret(value));
  return redactor;
}

function streamed(redactor: Redactor, chunks: string[]): string {
  const stream = redactor.stream();
  return chunks.map((chunk) => stream.push(chunk)).join("") + stream.flush();
}

const base64 = (text: string) => Buffer.from(text).toString("base64");
const nasty = "s3cr€t $`\"\\'/+& p%ss";

describe("every way a secret may be written", () => {
  const forms: [string, string][] = [
    ["as it is", nasty],
    ["in JSON", JSON.stringify(nasty).slice(1, -1)],
    ["in JSON as Python writes it", "s3cr\\u20act $`\\\"\\\\'/+& p%ss"],
    ["in a URL", encodeURIComponent(nasty)],
    ["in a URL, lower case", encodeURIComponent(nasty).replace(/%../g, (hex) => hex.toLowerCase())],
    ["in a form", new URLSearchParams({ a: nasty }).toString().slice(2)],
    ["between single quotes", nasty.replaceAll("'", "'\\''")],
    ["between single quotes, the other way", nasty.replaceAll("'", `'"'"'`)],
    ["between double quotes", nasty.replace(/["$`\\]/g, "\\$&")],
    ["in base64", base64(nasty)],
    ["in base64 without padding", base64(nasty).replace(/=+$/, "")],
    ["in hex", Buffer.from(nasty).toString("hex")],
    ["in HEX", Buffer.from(nasty).toString("hex").toUpperCase()],
    ["in base64 for URLs", Buffer.from(nasty).toString("base64url")],
  ];
  it.each(forms)("%s", (_, form) => {
    expect(hiding(nasty).text(`before ${form} after`)).toBe("before [secret] after");
  });

  it.each([0, 1, 2, 3, 4, 5])("inside longer base64, %i bytes in", (before) => {
    const secret = "correct-horse-battery";
    const whole = base64(`${"x".repeat(before)}${secret}yyyy`);
    const text = hiding(secret).text(whole);
    expect(text).toContain("[secret]");
    // At most one character at each end also holds bits of the secret.
    const kept = whole.length - (text.length - "[secret]".length);
    expect(kept).toBeGreaterThanOrEqual(Math.floor((secret.length * 8 - 10) / 6));
  });

  it("line by line", () => {
    const key = "-----BEGIN KEY-----\nAAAAB3NzaC1yc2E\nQUFBQUFBQUE9\n-----END KEY-----\n";
    expect(hiding(key).text("1: AAAAB3NzaC1yc2E\n2: QUFBQUFBQUE9\n")).toBe("1: [secret]\n2: [secret]\n");
  });

  it("without the newline a file ends with", () => {
    expect(hiding("hunter2000\n").text("it is hunter2000.")).toBe("it is [secret].");
  });
});

describe("cut into pieces", () => {
  const secret = "abcab-s3cret/abcab";
  const text = `a ${secret}${secret} ${base64(secret)} abca ${JSON.stringify(secret)} abcab`;
  const whole = hiding(secret).text(text);

  it("hides the whole", () => expect(whole).toBe('a [secret][secret] [secret] abca "[secret]" abcab'));

  it("at every place", () => {
    for (let at = 0; at <= text.length; at++) {
      expect(streamed(hiding(secret), [text.slice(0, at), text.slice(at)])).toBe(whole);
    }
  });

  it("character by character", () => expect(streamed(hiding(secret), [...text])).toBe(whole));

  it("any way, with any secrets that share their letters", () => {
    const word = fc.string({ unit: fc.constantFrom("a", "b", "%", "=", " "), minLength: 1, maxLength: 8 });
    const piece = fc.string({ unit: fc.constantFrom("a", "b", "%", "=", " "), maxLength: 6 });
    fc.assert(
      fc.property(
        fc.array(word, { minLength: 1, maxLength: 3 }),
        fc.array(piece, { maxLength: 12 }),
        (secrets, pieces) => {
          const redactor = hiding(...secrets);
          const result = redactor.text(pieces.join(""));
          expect(streamed(redactor, pieces)).toBe(result);
          for (const value of secrets.map((each) => each.trim()).filter((each) => each.length >= 4)) {
            expect(result.replaceAll("[secret]", "\u0000")).not.toContain(value);
          }
        },
      ),
      { numRuns: 2000 },
    );
  });

  it("hides what only overlaps", () => expect(hiding("abab").text("x ababab y")).toBe("x [secret] y"));

  it("keeps back no more than may be the beginning", () => {
    const stream = hiding("password").stream();
    expect(stream.push("the pass")).toBe("the ");
    expect(stream.push("age")).toBe("passage");
    expect(stream.push(" passwor")).toBe(" ");
    expect(stream.push("d!")).toBe("[secret]!");
    expect(stream.flush()).toBe("");
  });

  it("redacts a secret in the middle of a text", () => {
    const redactor = createRedactor();
    const stream = redactor.stream();
    expect(stream.push("one hunter2000 ")).toBe("one hunter2000 ");
    redactor.hide(new Secret("hunter2000"));
    expect(stream.push("two hunter2000 ")).toBe("two [secret] ");
  });
});

describe("short secrets", () => {
  it.each([
    ["it is abc", "it is [secret]"],
    ["abc", "[secret]"],
    ["abc, it is", "[secret], it is"],
    ["abcd xabc abc1 _abc", "abcd xabc abc1 _abc"],
  ])("are hidden only where they stand alone: %s", (text, shown) => {
    expect(hiding("abc").text(text)).toBe(shown);
    expect(streamed(hiding("abc"), [...text])).toBe(shown);
  });

  it("none is nothing to hide", () => expect(hiding("", "  \n").text("a  b")).toBe("a  b"));
});
