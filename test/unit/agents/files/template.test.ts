import fc from "fast-check";
import Handlebars from "handlebars";
import { expect, test } from "vitest";
import { fill, namesIn } from "../../../../src/agents/files/template.js";

test.each([
  ["nothing to fill in", {}, "nothing to fill in"],
  ["{{name}}", { name: "wolf" }, "wolf"],
  ["a {{ name }}\n{{port}}{{name}} b", { name: "wolf", port: 8642 }, "a wolf\n8642wolf b"],
  ["{{flag}}", { flag: false }, "false"],
  ["{ {{name}} } }}", { name: "{{port}}" }, "{ {{port}} } }}"],
  ["Bearer {{first tokens}}", { tokens: "a-1,b-2,c-3" }, "Bearer a-1"],
  ["Bearer {{first tokens}}", { tokens: "a-1" }, "Bearer a-1"],
  ["{{v1 endpoint}}", { endpoint: "http://gpu:11434" }, "http://gpu:11434/v1"],
  ["{{v1 endpoint}}/models", { endpoint: "http://gpu:11434/v1/" }, "http://gpu:11434/v1/models"],
  ["{{number port}}", { port: "8644" }, "8644"],
  ["{{name}} and {{port}}", { name: "wolf" }, undefined],
  ["{{constructor}}", {}, undefined],
])("%s with %o is %o", (template, values, expected) => {
  expect(fill(template, values as Record<string, string>)).toBe(expected);
});

test("names are listed once each", () => {
  expect(namesIn("{{a}}{{v1 b}}{{a}} c")).toEqual(["a", "b"]);
});

test.each([
  ["a block", "{{#if name}}a{{/if}}"],
  ["a partial", "{{> name}}"],
  ["a comment", "{{! name}}"],
  ["a path", "{{a.b}}"],
  ["a helper nobody has", "{{upper name}}"],
  ["a helper everybody has", "{{constructor name}}"],
  ["a helper of two values", "{{v1 a b}}"],
  ["three braces", "{{{name}}}"],
  ["a brace too many", "{{name}}}"],
  ["an escape", "\\\\{{name}}"],
  ["a text", "{{'name'}}"],
  ["nothing in it", "{{}}"],
  ["no end", "{{name"],
])("%s is no template", (_what, template) => {
  expect(() => namesIn(template)).toThrow();
});

test("every template gives the same result as Handlebars", () => {
  const piece = fc.oneof(
    fc.constantFrom("{{a}}", "{{ b }}", "{{v1 a}}", "{", "}", "{{", "}}", "\\", "\n", " ", "$1", "$&"),
    fc.string(),
  );
  const handlebars = Handlebars.create();
  handlebars.registerHelper("v1", (value: string) => value.replace(/\/+(v1\/*)?$|$/, "/v1"));
  fc.assert(
    fc.property(fc.array(piece), fc.string(), fc.string(), (pieces, a, b) => {
      const template = pieces.join("");
      let said: string | undefined;
      try {
        said = fill(template, { a, b });
      } catch {
        return;
      }
      if (said !== undefined)
        expect(said).toBe(handlebars.compile(template, { noEscape: true, strict: true })({ a, b }));
    }),
    { numRuns: 500 },
  );
});
