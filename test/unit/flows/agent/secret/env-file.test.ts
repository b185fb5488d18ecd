import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { Fault } from "../../../../../src/errors.js";
import { secretsIn } from "../../../../../src/flows/agent/secret/env-file.js";

interface Case {
  name: string;
  text: string;
  expect?: Record<string, string>;
  fault?: string;
}

function outcome(text: string): Record<string, string> | string {
  try {
    return Object.fromEntries([...secretsIn("x.env", text)].map(([name, secret]) => [name, secret.reveal()]));
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    return [error.message, ...error.why].join(": ");
  }
}

describe("a file of variables", () => {
  const cases: Case[] = parse(readFileSync("test/cases/env-import.yaml", "utf8"));

  it.each(cases)("$name", ({ text, expect: expected, fault }) => {
    expect(outcome(text)).toEqual(expected ?? expect.stringContaining(`x.env cannot be read: ${fault}`));
  });

  it("never shows a value in an error", () => {
    for (const { text, fault } of cases) {
      if (!fault) continue;
      expect(outcome(text.replace(/=(\S)/, "=planted-$1"))).not.toContain("planted");
    }
  });
});
