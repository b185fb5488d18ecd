import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import * as fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { RequestLog } from "../../../../src/gateway/audit/log.js";
import { verifyRequestLog } from "../../../../src/gateway/audit/verify.js";
import { hashOf } from "../../../../src/state/audit/hash-chain.js";
import { call, ending } from "./calls.js";

/** A log of 12 lines, four in each of two old files and in the newest. */
let whole: string;
const root = mkdtempSync(join(tmpdir(), "clm-tampering-"));
afterAll(() => rmSync(root, { recursive: true, force: true }));
const first = "audit-000000000001.jsonl";
const second = "audit-000000000005.jsonl";
const newest = "audit.jsonl";

beforeAll(async () => {
  whole = join(root, "whole", "gateway");
  for (let n = 1; n <= 12; n++) {
    const open = await RequestLog.open(whole, { maxBytes: n % 4 === 0 && n < 12 ? 1 : 1_000_000 });
    // The replacement character: an edit of it must not produce the same digest.
    await open.write(call(n, { model: "ada \ufffd" }), ending());
    await open.close();
  }
  expect(readdirSync(whole).sort()).toEqual([first, second, "audit.head", newest, "under-way.jsonl"]);
  expect(await verifyRequestLog(whole)).toMatchObject({ ok: true, entries: 12, files: 3 });
});

let copies = 0;
function copy(): string {
  const dir = join(root, `copy-${copies++}`, "gateway");
  mkdirSync(dirname(dir), { mode: 0o700 });
  cpSync(whole, dir, { recursive: true });
  return dir;
}

const resealed = (line: string, previousHash: string) => {
  const body = line.replace(/,"hash":"\w+"\}$/, "");
  return `${body},"hash":"${hashOf(body, previousHash)}"}`;
};
const hashIn = (line = "") => /"hash":"(\w+)"\}$/.exec(line)?.[1] ?? "";
const edit = (name: string, change: (lines: string[]) => string[]) => (dir: string) => {
  const path = join(dir, name);
  const lines = readFileSync(path, "utf8").split("\n").slice(0, -1);
  writeFileSync(
    path,
    change(lines)
      .map((line) => `${line}\n`)
      .join(""),
  );
};
const move = (from: string, to: string) => (dir: string) => renameSync(join(dir, from), join(dir, to));

const cases: [what: string, how: (dir: string) => void, where: [file: string, line: number], reason: RegExp][] = [
  ["a line changed", edit(second, (l) => l.with(1, (l[1] ?? "").replace("codex", "admin"))), [second, 2], /changed/],
  [
    "a line changed and sealed again",
    edit(second, (l) => l.with(1, resealed((l[1] ?? "").replace("codex", "admin"), hashIn(l[0])))),
    [second, 3],
    /changed/,
  ],
  [
    "the last line of a file changed and sealed again",
    edit(second, (l) => l.with(3, resealed((l[3] ?? "").replace("codex", "admin"), hashIn(l[2])))),
    [newest, 1],
    /changed/,
  ],
  [
    "the last of all changed and sealed again",
    edit(newest, (l) => l.with(3, resealed((l[3] ?? "").replace("codex", "admin"), hashIn(l[2])))),
    [newest, 4],
    /not the line recorded in audit.head/,
  ],
  [
    "a byte that makes no difference to who reads it as text",
    (dir) => {
      const bytes = readFileSync(join(dir, second));
      const at = bytes.indexOf("\ufffd") + 2;
      writeFileSync(join(dir, second), Buffer.concat([bytes.subarray(0, at), bytes.subarray(at + 1)]));
    },
    [second, 1],
    /not an audit log line/,
  ],
  ["a line removed", edit(second, (l) => l.toSpliced(1, 1)), [second, 2], /^entry 6 is missing before it/],
  ["the first line of all removed", edit(first, (l) => l.slice(1)), [first, 1], /^entry 1 is missing before it/],
  ["the last line of a file removed", edit(first, (l) => l.slice(0, -1)), [second, 1], /^entry 4 is missing before it/],
  [
    "the last lines of all removed",
    edit(newest, (l) => l.slice(0, 2)),
    [newest, 2],
    /^entries 11 to 12 are missing after it/,
  ],
  [
    "two lines exchanged",
    edit(second, (l) => [l[0], l[2], l[1], l[3]].map(String)),
    [second, 2],
    /^entry 6 is missing/,
  ],
  ["a line twice", edit(second, (l) => l.toSpliced(2, 0, l[1] ?? "")), [second, 3], /^entry 6 comes after entry 6/],
  ["a line put in", edit(second, (l) => l.toSpliced(2, 0, '{"seq":7}')), [second, 3], /not an audit log line/],
  ["an empty line put in", edit(second, (l) => l.toSpliced(2, 0, "")), [second, 3], /not an audit log line/],
  ["a line put in after the last", edit(newest, (l) => [...l, '{"seq":13}']), [newest, 5], /not an audit log line/],
  ["the oldest file removed", (dir) => rmSync(join(dir, first)), [second, 1], /^entries 1 to 4 are missing before it/],
  ["a file between removed", (dir) => rmSync(join(dir, second)), [newest, 1], /^entries 5 to 8 are missing before it/],
  ["the newest file removed", (dir) => rmSync(join(dir, newest)), [second, 4], /^entries 9 to 12 are missing after it/],
  ["the newest file emptied", edit(newest, () => []), [second, 4], /^entries 9 to 12 are missing after it/],
  ["an old file emptied", edit(second, () => []), [newest, 1], /^entries 5 to 8 are missing before it/],
  [
    "all files removed but the head",
    (dir) => [first, second, newest].map((name) => rmSync(join(dir, name))),
    [newest, 0],
    /^the log is empty: entries 1 to 12 are missing/,
  ],
  [
    "two files exchanged",
    (dir) => {
      move(first, "x")(dir);
      move(second, first)(dir);
      move("x", second)(dir);
    },
    [first, 1],
    /^entries 1 to 4 are missing before it/,
  ],
  [
    "a file under another name",
    move(second, "audit-000000000006.jsonl"),
    ["audit-000000000006.jsonl", 1],
    /should begin with entry 6/,
  ],
  [
    "a file twice",
    (dir) => cpSync(join(dir, second), join(dir, "audit-000000000006.jsonl")),
    ["audit-000000000006.jsonl", 1],
    /comes after/,
  ],
];

describe("tampering is detected with its position", () => {
  it.each(cases)("%s", async (_, how, [file, line], reason) => {
    const dir = copy();
    how(dir);
    const { ok, firstBad } = await verifyRequestLog(dir);
    expect([ok, firstBad?.file, firstBad?.line, firstBad?.reason]).toEqual([
      false,
      file,
      line,
      expect.stringMatching(reason),
    ]);

    // Going on with it does not heal it.
    const open = await RequestLog.open(dir);
    await open.write(call(13), ending());
    await open.close();
    expect((await verifyRequestLog(dir)).ok).toBe(false);
  });

  it("any edit of any byte", async () => {
    const names = [first, second, newest, "audit.head"];
    const sizes = names.map((name) => readFileSync(join(whole, name)).length);
    const dir = copy();
    const place = fc
      .nat(names.length - 1)
      .chain((which) => fc.record({ which: fc.constant(which), at: fc.nat((sizes[which] ?? 1) - 1) }));
    const change = fc.oneof(
      fc.record({ kind: fc.constant("set" as const), byte: fc.nat(255) }),
      fc.record({ kind: fc.constant("insert" as const), byte: fc.nat(255) }),
      fc.record({ kind: fc.constant("delete" as const), byte: fc.constant(0) }),
      fc.record({ kind: fc.constant("cut" as const), byte: fc.constant(0) }),
    );
    await fc.assert(
      fc.asyncProperty(place, change, async ({ which, at }, { kind, byte }) => {
        const name = names[which] ?? "";
        const before = readFileSync(join(whole, name));
        const added = kind === "insert" || kind === "set" ? [byte] : [];
        const kept = kind === "cut" ? before.length : at + (kind === "insert" ? 0 : 1);
        const after = Buffer.concat([before.subarray(0, at), Buffer.from(added), before.subarray(kept)]);
        if (after.equals(before)) return;
        writeFileSync(join(dir, name), after);
        try {
          expect((await verifyRequestLog(dir)).ok).toBe(false);
        } finally {
          writeFileSync(join(dir, name), before);
        }
      }),
      { numRuns: 600 },
    );
    expect((await verifyRequestLog(dir)).ok).toBe(true);
  });

  it("except a removed end that no head recorded", async () => {
    const dir = copy();
    writeFileSync(join(dir, newest), Buffer.concat([readFileSync(join(dir, newest)), Buffer.from('{"seq":13,')]));
    expect(await verifyRequestLog(dir)).toMatchObject({ ok: true, entries: 12, files: 3 });
  });
});
