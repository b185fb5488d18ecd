import { expect, test } from "vitest";
import { matches, parseKnownHosts } from "../../../../src/remote/host-keys/known-hosts.js";
import { verdict } from "../../../../src/remote/host-keys/verdict.js";
import { judged, key, keyName, withKeys } from "./cases.js";

const entries = (text: string, name: string) =>
  parseKnownHosts(withKeys(text), "known_hosts").entries.filter((entry) => matches(entry.hosts, name));

test.each(judged)("$name", ({ pins = "", user = "", offered, expect: expected }) => {
  const known = entries(user, "host.example");
  const found = verdict({
    pins: entries(pins, "wolf-i"),
    known: {
      keys: known.filter((entry) => entry.marker === undefined),
      revoked: known.filter((entry) => entry.marker === "revoked"),
    },
    offered: key(offered),
  });
  expect({
    ...found,
    ...("offered" in found && { offered: keyName(found.offered.blob) }),
    ...("expected" in found && { expected: found.expected.map(({ blob }) => keyName(blob)) }),
    ...("entry" in found && { entry: undefined, at: found.entry.line }),
  }).toEqual({ ...expected, ...(expected.kind !== "trusted" && { offered }) });
});

test("with a pin the user's keys are not even looked up", () => {
  const known = {
    revoked: [],
    get keys(): never {
      throw new Error("looked up");
    },
  };
  expect(verdict({ pins: [key("ed1")], known, offered: key("ed1") }).kind).toBe("trusted");
  expect(verdict({ pins: [key("ed1")], known, offered: key("ed2") }).kind).toBe("changed");
});
