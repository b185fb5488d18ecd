import { createHmac } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  type KnownHostsEntry,
  lookupName,
  matches,
  parseKnownHosts,
} from "../../../../src/remote/host-keys/known-hosts.js";
import { type ExpectedKey, keyName, keys, lookups, scratch, sshKeygen, withKeys } from "./cases.js";

const look = (text: string, name: string): ExpectedKey[] =>
  parseKnownHosts(text, "known_hosts")
    .entries.filter((entry) => matches(entry.hosts, name))
    .map(
      (entry: KnownHostsEntry) =>
        [entry.line, keyName(entry.blob), ...(entry.marker ? [entry.marker] : [])] as ExpectedKey,
    );

const markers: Record<string, string> = { REVOKED: "revoked", CA: "cert-authority" };

/** The same answer from the real thing: `-l` makes ssh-keygen parse the keys of the lines it finds. */
function lookWithOpenSsh(path: string, name: string): ExpectedKey[] {
  const output = sshKeygen("-l", "-F", name, "-f", path);
  return [...output.matchAll(/found: line (\d+) (\w*)\n.*(SHA256:\S+)/g)].map(([, line, marker = "", print]) => {
    const key = Object.keys(keys).find((each) => keys[each]?.fingerprint === print) ?? "another key";
    return [Number(line), key, ...(markers[marker] ? [markers[marker]] : [])] as ExpectedKey;
  });
}

describe.each(lookups)("$name", ({ text: template, ask, ignored = [], differs, unhashable }) => {
  const text = withKeys(template);

  test.each(Object.entries(ask))("%s", (name, found) => {
    expect(look(text, name)).toEqual(found);
  });

  test("invalid lines are reported", () => {
    expect(parseKnownHosts(text, "known_hosts").ignored.map(({ line }) => line)).toEqual(ignored);
  });

  test.each(Object.entries(ask))(
    differs ? `OpenSSH differs on %s: ${differs}` : "OpenSSH says the same of %s",
    (name, found) => {
      const path = join(scratch(), "known_hosts");
      writeFileSync(path, text);
      if (differs) expect(lookWithOpenSsh(path, name)).not.toEqual(found);
      else expect(lookWithOpenSsh(path, name)).toEqual(found);
    },
  );

  if (unhashable) return;
  test("after ssh-keygen -H it gives the same keys", () => {
    const path = join(scratch(), "known_hosts");
    // A file with a malformed line is left as it is by ssh-keygen -H.
    const usable = text.split("\n").filter((_, index) => !ignored.includes(index + 1));
    writeFileSync(path, usable.join("\n"));
    sshKeygen("-q", "-H", "-f", path);
    const hashed = readFileSync(path, "utf8");
    for (const [name, found] of Object.entries(ask)) {
      const without = (all: ExpectedKey[]) => all.map(([, key, marker]) => [key, marker]);
      expect(without(look(hashed, name))).toEqual(without(found));
    }
  });
});

describe("the name a host is looked up by", () => {
  test.each([
    ["Host.Example", 22, "host.example"],
    ["host.example", 2222, "[host.example]:2222"],
    ["FE80::1", 22, "fe80::1"],
    ["::1", 2222, "[::1]:2222"],
  ])("%s port %i", (host, port, name) => {
    expect(lookupName(host, port)).toBe(name);
  });
});

const hostName = fc.stringMatching(/^[a-zA-Z0-9.:-]{1,12}$/);
const port = fc.constantFrom(22, 2222, 65535);
const salt = fc.uint8Array({ minLength: 20, maxLength: 20 }).map((bytes) => Buffer.from(bytes));

function hashed(name: string, salt: Buffer): string {
  return `|1|${salt.toString("base64")}|${createHmac("sha1", salt).update(name).digest("base64")}`;
}

describe("whatever the names are", () => {
  test("a hashed entry matches like the plain one", () => {
    fc.assert(
      fc.property(hostName, port, hostName, port, salt, fc.boolean(), (host, itsPort, other, otherPort, salt, same) => {
        const entry = lookupName(host, itsPort);
        const asked = same ? lookupName(host.toUpperCase(), otherPort) : lookupName(other, otherPort);
        expect(matches(hashed(entry, salt), asked)).toBe(matches(entry, asked));
      }),
    );
  });

  test("a pattern matches like the same regular expression", () => {
    const pattern = fc.stringMatching(/^[ab*?]{0,8}$/);
    fc.assert(
      fc.property(pattern, fc.stringMatching(/^[ab]{1,8}$/), (pattern, name) => {
        const expected = new RegExp(`^${pattern.replaceAll("*", ".*").replaceAll("?", ".")}$`);
        expect(matches(pattern, name)).toBe(expected.test(name));
        expect(matches(`*,!${pattern}`, name)).toBe(!expected.test(name));
      }),
      { numRuns: 1000 },
    );
  });

  test("any text can be parsed, and every line is an entry, ignored, blank or a comment", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), (text) => {
        const { entries, ignored } = parseKnownHosts(text, "known_hosts");
        const spoken = text.split("\n").filter((line) => line.trim() !== "" && !line.trim().startsWith("#"));
        expect(entries.length + ignored.length).toBe(spoken.length);
      }),
    );
  });
});
