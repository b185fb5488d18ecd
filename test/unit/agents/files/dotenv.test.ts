import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { dotenv, dotenvFile } from "../../../../src/agents/files/dotenv.js";
import { Secret } from "../../../../src/secret.js";

interface Case {
  name?: string;
  value: string;
  written?: string;
  refused?: string;
}

const cases: Case[] = parse(readFileSync("test/cases/dotenv/values.yaml", "utf8"));

describe("a value of .env", () => {
  it.each(cases)("$name $value", ({ name = "NAME", value, written, refused }) => {
    if (refused === undefined) expect(dotenv(name, value)).toBe(written);
    else {
      const fault = expect.objectContaining({ fault: "bad-input", message: expect.stringContaining(refused) });
      expect(() => dotenv(name, value)).toThrow(fault);
    }
  });

  it("may be as long as a host can pass on, and no longer", () => {
    expect(dotenv("NAME", "x".repeat(131_066))).toHaveLength(131_066);
    expect(() => dotenv("NAME", "x".repeat(131_067))).toThrow(
      "the value of NAME cannot be written to .env: it is too long",
    );
    expect(() => dotenv("NAME", "é".repeat(65_534))).toThrow("too long");
  });

  it("is never shown when it is refused", () => {
    for (const value of [
      "hunter2\n",
      "hunter2\\",
      "hunter2$".concat("{A}"),
      "hunter2\u0007",
      "SECRET_API_KEY=hunter2",
      `${"hunter2".repeat(20_000)}`,
    ]) {
      const told = (() => {
        try {
          return dotenv("NAME", value);
        } catch (error) {
          const { message, why, next, data, stack } = error as Error & Record<string, unknown>;
          return JSON.stringify([message, why, next, data, stack]);
        }
      })();
      expect(told).toContain("NAME");
      expect(told).not.toContain("hunter2");
    }
  });
});

describe("the file", () => {
  it("has a header, then one variable per line", () => {
    const file = dotenvFile(
      new Map<string, string | Secret>([
        ["B_B", "two words"],
        ["A", new Secret("hunter2")],
        ["C", ""],
      ]),
    );
    expect(String(file)).toBe("[secret]");
    expect(file.reveal()).toMatch(
      /^# clm writes this file .*`clm agent configure`.*\nB_B='two words'\nA=hunter2\nC=\n$/,
    );
  });

  it("without a variable is not empty", () => {
    expect(dotenvFile(new Map()).reveal()).toMatch(/^# clm .*[^\\]\n$/);
  });

  it("names no other variable in a value", () => {
    const entries = new Map([
      ["FIRST_ONE", "x"],
      ["SECOND_ONE", "hunter2FIRST_ONE=y"],
    ]);
    expect(() => dotenvFile(entries)).toThrow(
      "the value of SECOND_ONE cannot be written to .env: it contains FIRST_ONE=",
    );
  });
});
