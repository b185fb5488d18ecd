import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { dotenv, dotenvFile } from "../../src/agents/files/dotenv.js";
import { isFault } from "../../src/errors.js";
import type { Connection } from "../../src/remote/connection.js";
import { converge } from "../../src/remote/operations/converge.js";
import { absent, file } from "../../src/remote/operations/operation.js";
import { run } from "../../src/remote/run.js";
import { connectTo } from "./connect.js";

const shared = inject("fleetHome");
const path = "/etc/hostile.env";

const pieces = [
  ..."'\"`\\$#=%;&|!?*~<>()[]{} \t,.:@^-_/aZ0",
  ...[
    "\\n",
    "\\'",
    '\\"',
    "\\\\",
    "''",
    '""',
    "${",
    "$(id)",
    "%n",
    "%%",
    " #",
    "# ",
    "  ",
    "export ",
    "\\x41",
    "\\u0041",
  ],
  ...["é", "ß", "中", "🜛", "👩‍👩‍👧", "\u00a0", "\u2028", "\u200b", "\ufeff", "\u202e", "A=", "KEY=", "x: y"],
];

/** Values that are hard to quote. Those that clm refuses are skipped. */
const hostile = fc.oneof(
  { weight: 6, arbitrary: fc.array(fc.constantFrom(...pieces), { maxLength: 12 }).map((some) => some.join("")) },
  { weight: 2, arbitrary: fc.string({ unit: "binary", maxLength: 20 }) },
  { weight: 1, arbitrary: fc.string({ unit: "grapheme-ascii", maxLength: 40 }) },
);

function sayable(value: string): boolean {
  try {
    dotenv("VALUE", value);
    return true;
  } catch (error) {
    if (isFault(error, "bad-input")) return false;
    throw error;
  }
}

function values(count: number, seed: number): Map<string, string> {
  const all = fc
    .sample(hostile, { seed, numRuns: count * 2 })
    .filter(sayable)
    .slice(0, count);
  const known = ["", "plain", " ", "\t", "'", '"', "\\'x", '\\"x', "#", "# x", "=", "a'b\"c\\d", "x".repeat(60_000)];
  return new Map([...known, ...all, "last'"].map((value, index) => [`V${index}`, value]));
}

// Hermes calls load_dotenv with override=True; interpolation is on unless it is turned off.
const reader = `
import json, os, subprocess
from dotenv import load_dotenv
out = subprocess.run(["systemd-run", "--quiet", "--wait", "--pipe", "-p", "EnvironmentFile=${path}", "env", "-0"],
                     stdout=subprocess.PIPE, check=True).stdout
systemd = dict(each.decode().split("=", 1) for each in out.split(b"\\0") if each)
for name in systemd: os.environ[name] = "overridden"
load_dotenv("${path}", override=True, encoding="utf-8")
ours = lambda all: {name: value for name, value in all.items() if name[0] == "V" and name[1:].isdigit()}
print(json.dumps([ours(systemd), ours(dict(os.environ))]))
`;

describe.each(["trial-1", "trial13-1"])("a .env file on %s", (name) => {
  let connection: Connection;

  beforeAll(async () => {
    connection = await connectTo(shared, name);
  });
  afterAll(async () => {
    await converge(connection.as("root"), [absent({ path })], { mode: "apply" });
    connection.close();
  });

  async function readBack(entries: Map<string, string>): Promise<[object, object]> {
    const root = connection.as("root");
    const wish = file(path, { owner: "root", mode: 0o600, content: dotenvFile(entries) });
    expect((await converge(root, [wish], { mode: "apply" })).failed).toBeUndefined();
    const { code, stdout, stderr } = await run(root, "python3 -", { stdin: reader });
    expect([code, stderr]).toEqual([0, ""]);
    return JSON.parse(stdout);
  }

  const rounds = process.env.CLM_TEST_EXHAUSTIVE ? 20 : 1;
  it.each([...Array(rounds).keys()])("means the same to systemd and to dotenv (seed %i)", async (seed) => {
    const entries = values(600, seed);
    expect(entries.size).toBeGreaterThan(500);
    const [systemd, dotenv] = await readBack(entries);
    expect(systemd).toEqual(Object.fromEntries(entries));
    expect(dotenv).toEqual(Object.fromEntries(entries));
  });

  it("holds the longest possible value", async () => {
    const entries = new Map([["V1", "'".repeat(131_068)]]);
    const [systemd, dotenv] = await readBack(entries);
    expect([systemd, dotenv]).toEqual([Object.fromEntries(entries), Object.fromEntries(entries)]);
  });
});
