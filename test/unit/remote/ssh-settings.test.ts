import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { parse } from "yaml";
import { parseHop, parseSshSettings } from "../../../src/remote/ssh-settings.js";

const load = (name: string) => parse(readFileSync(new URL(`../../cases/ssh-config/${name}`, import.meta.url), "utf8"));

const cases: { name: string; output: string; expect: Record<string, unknown> }[] = load("output.yaml");
const here = { home: "/home/me", user: "me", env: { SOCK: "/run/agent.sock", EMPTY: "" } };

test.each(cases)("$name", ({ output, expect: expected }) => {
  const settings: Record<string, unknown> = { ...parseSshSettings(output, here) };
  const seen = Object.keys(expected).map((key) => [key, key in settings ? settings[key] : "absent"]);
  expect(Object.fromEntries(seen)).toEqual(expected);
});

describe("a hop", () => {
  test.each(Object.entries(load("hops.yaml")))("%s", (text, hop) => {
    expect(parseHop(text)).toEqual(hop);
  });
});
