import { expect, it } from "vitest";
import { typedAgain } from "../../../src/flows/typed-again.js";

it.each([
  ["agent configure a --provider p", "--port", "auto", "clm agent configure a --provider p --port auto"],
  ["agent configure a --port 22 --provider p", "--port", "auto", "clm agent configure a --provider p --port auto"],
  ["agent configure a --port=22", "--port", "auto", "clm agent configure a --port auto"],
  [
    "agent configure a --set b.port=1 --set c.port=2",
    "--set",
    "b.port=9",
    "clm agent configure a --set c.port=2 --set b.port=9",
  ],
  ["agent configure a --set=b.port=1", "--set", "b.port=9", "clm agent configure a --set b.port=9"],
])("%s with %s %s", (line, option, value, again) => {
  expect(typedAgain(line.split(" "), option, value).replaceAll("'", "")).toBe(again);
});
