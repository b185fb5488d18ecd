import { createHash } from "node:crypto";
import {
  appendFileSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { userInfo } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { readAudit, verifyAudit } from "../../../src/state/audit/read.js";
import { beginAudit, endAudit } from "../../../src/state/audit/write.js";
import { faultOf, scratchDirectories } from "./scratch.js";

const scratch = scratchDirectories();

const log = (dir: string) => join(dir, "audit.jsonl");
const head = (dir: string) => join(dir, "audit.head");
const linesOf = (dir: string) => readFileSync(log(dir), "utf8").split("\n").slice(0, -1);
const write = (dir: string, lines: string[]) => writeFileSync(log(dir), lines.map((line) => `${line}\n`).join(""));

async function action(dir: string, target: string, day = 1) {
  const now = () => new Date(Date.UTC(2025, 0, day));
  const begun = await beginAudit(dir, { verb: "host add", target, argv: ["host", "add", target] }, now);
  await endAudit(dir, begun, { result: "ok" }, now);
}

/** A log of 6 lines: three hosts added on three days. */
async function filled(): Promise<string> {
  const dir = scratch();
  for (const [index, target] of ["wolf", "bear", "fox"].entries()) await action(dir, target, index + 1);
  return dir;
}

test("start and end of an action are a line each, with user, verb, target, time and result", async () => {
  const dir = scratch();
  const now = () => new Date("2025-01-01T00:00:00Z");
  const begun = await beginAudit(dir, { verb: "host add", target: "wolf", argv: ["host", "add", "wolf"] }, now);
  await endAudit(dir, begun, { result: "failed", fault: "CLM-2002" }, now);
  const [first, second] = readAudit(dir);
  expect(first).toMatchObject({
    seq: 1,
    at: "2025-01-01T00:00:00.000Z",
    event: "begin",
    verb: "host add",
    target: "wolf",
    argv: ["host", "add", "wolf"],
    who: { user: userInfo().username, uid: process.getuid?.() },
  });
  expect(second).toMatchObject({
    seq: 2,
    event: "end",
    id: first?.id,
    target: "wolf",
    result: "failed",
    fault: "CLM-2002",
  });
  expect(statSync(log(dir)).mode & 0o777).toBe(0o600);
  expect(statSync(head(dir)).mode & 0o777).toBe(0o600);
});

test("each line's hash can be made with sha256 from the line and the hash before it", async () => {
  const dir = await filled();
  let previous = "";
  for (const line of linesOf(dir)) {
    const body = line.replace(/,"hash":"\w+"\}$/, "");
    previous = createHash("sha256").update(`${previous}\n${body}`).digest("hex");
    expect(line).toBe(`${body},"hash":"${previous}"}`);
  }
});

test("an untouched log is valid, and so is none", async () => {
  expect(verifyAudit(await filled())).toEqual({ ok: true, entries: 6, unfinished: [] });
  const empty = scratch();
  expect(verifyAudit(empty)).toEqual({ ok: true, entries: 0, unfinished: [] });
  expect(readAudit(empty)).toEqual([]);
  expect(readdirSync(empty)).toEqual([]);
});

test("what began and did not end is named", async () => {
  const dir = await filled();
  await beginAudit(dir, { verb: "host remove", target: "bear", argv: [] });
  await action(dir, "lynx");
  const verdict = verifyAudit(dir);
  expect(verdict.ok).toBe(true);
  expect(verdict.unfinished).toMatchObject([{ verb: "host remove", target: "bear" }]);
});

const resealed = (line: string, previousHash: string) => {
  const body = line.replace(/,"hash":"\w+"\}$/, "");
  return `${body},"hash":"${createHash("sha256").update(`${previousHash}\n${body}`).digest("hex")}"}`;
};
const hashIn = (line = "") => /"hash":"(\w+)"/.exec(line)?.[1] ?? "";

test.each<[string, (lines: string[]) => string[], number, RegExp]>([
  ["edited", (l) => l.map((line, i) => (i === 2 ? line.replace("bear", "deer") : line)), 3, /changed/],
  [
    "edited and sealed again",
    (l) => l.map((line, i) => (i === 2 ? resealed(line.replace("bear", "deer"), hashIn(l[1])) : line)),
    4,
    /changed/,
  ],
  [
    "edited only in its spaces",
    (l) => l.map((line, i) => (i === 2 ? line.replace('"seq":3', '"seq": 3') : line)),
    3,
    /changed/,
  ],
  ["removed", (l) => l.toSpliced(2, 1), 3, /entry 3 is missing before/],
  ["removed, with its neighbour", (l) => l.toSpliced(2, 2), 3, /entries 3 to 4 are missing before/],
  ["removed from the beginning", (l) => l.slice(1), 1, /entry 1 is missing before/],
  ["swapped with the next", (l) => l.toSpliced(2, 2, l[3] ?? "", l[2] ?? ""), 3, /missing before/],
  ["repeated", (l) => l.toSpliced(2, 0, l[1] ?? ""), 3, /entry 2 comes after entry 2/],
  ["put in", (l) => l.toSpliced(2, 0, '{"seq":3,"event":"begin"}'), 3, /not an audit log line/],
  ["replaced by an empty one", (l) => l.toSpliced(2, 1, ""), 3, /not an audit log line/],
  ["cut off the end", (l) => l.slice(0, -1), 5, /entry 6 is missing after/],
  ["cut off the end, with others", (l) => l.slice(0, 2), 2, /entries 3 to 6 are missing after/],
  [
    "the last and edited",
    (l) => l.map((line, i) => (i === 5 ? resealed(line.replace("ok", "no"), hashIn(l[4])) : line)),
    6,
    /not the line that was written last/,
  ],
  ["any: all are gone", () => [], 0, /^the log is empty: entries 1 to 6 are missing$/],
])("a line that was %s is noticed", async (_, tamper, line, reason) => {
  const dir = await filled();
  write(dir, tamper(linesOf(dir)));
  const verdict = verifyAudit(dir);
  expect(verdict.ok).toBe(false);
  expect(verdict.firstBad?.line).toBe(line);
  expect(verdict.firstBad?.reason).toMatch(reason);

  // Going on with it does not heal it.
  await action(dir, "lynx");
  expect(verifyAudit(dir).ok).toBe(false);
});

test("half a line cut off the end by hand is noticed", async () => {
  const dir = await filled();
  truncateSync(log(dir), statSync(log(dir)).size - 10);
  expect(verifyAudit(dir).firstBad?.reason).toMatch(/entry 6 is missing after/);
});

test("a head that is missing, broken or old is noticed", async () => {
  const dir = await filled();
  const before = readFileSync(head(dir));
  rmSync(head(dir));
  expect(verifyAudit(dir).firstBad?.reason).toContain("audit.head is missing");
  writeFileSync(head(dir), "{");
  expect(verifyAudit(dir).firstBad?.reason).toContain("audit.head is missing");
  writeFileSync(head(dir), before);
  await action(dir, "lynx");
  writeFileSync(head(dir), before);
  expect(verifyAudit(dir).firstBad?.reason).toContain("audit.head says");
});

test.each<[string, (dir: string) => void, number]>([
  ["taken away", (dir) => rmSync(head(dir)), 7],
  ["broken", (dir) => writeFileSync(head(dir), "{"), 7],
  ["put back to an older one", (dir) => writeFileSync(head(dir), '{"seq":2,"hash":"x"}'), 7],
  [
    "taken away to cut off lines",
    (dir) => {
      rmSync(head(dir));
      write(dir, linesOf(dir).slice(0, 1));
    },
    2,
  ],
])("a head that was %s leaves a mark for good", async (_, tamper, line) => {
  const dir = await filled();
  tamper(dir);
  expect(verifyAudit(dir).ok).toBe(false);
  for (const target of ["lynx", "owl"]) {
    await action(dir, target);
    expect(verifyAudit(dir).firstBad).toEqual({
      line,
      reason: "audit.head was lost before it was written, so lines may be missing before it",
    });
  }
  expect(readAudit(dir).filter((entry) => entry.head_lost)).toMatchObject([{ seq: line, target: "lynx" }]);
});

test.each([10, 5000])("an unfinished line of %i bytes is cut by the next writer, which records it", async (length) => {
  const dir = await filled();
  const torn = '{"seq":7,'.padEnd(length, "x");
  appendFileSync(log(dir), torn);
  expect(verifyAudit(dir)).toMatchObject({ ok: true, entries: 6 });
  expect(readAudit(dir)).toHaveLength(6);
  await action(dir, "lynx");
  expect(verifyAudit(dir)).toMatchObject({ ok: true, entries: 8 });
  expect(readAudit(dir)[6]).toMatchObject({ seq: 7, target: "lynx", cut_bytes: length });
  expect(readAudit(dir)[7]).not.toHaveProperty("cut_bytes");
});

test("a log with only an unfinished line is started again", async () => {
  const dir = scratch();
  writeFileSync(log(dir), '{"seq":1');
  await action(dir, "wolf");
  expect(verifyAudit(dir)).toMatchObject({ ok: true, entries: 2 });
});

test("lines longer than one read of the end are found", async () => {
  const dir = scratch();
  for (const size of [5000, 40, 100_000]) {
    await beginAudit(dir, { verb: "host exec", target: "wolf", argv: ["x".repeat(size)] });
  }
  await action(dir, "wolf");
  expect(verifyAudit(dir)).toMatchObject({ ok: true, entries: 5 });
});

test("text in every script keeps the chain valid", async () => {
  const dir = scratch();
  await beginAudit(dir, { verb: "host exec", target: "wolf", argv: ["grüße", "日本", "\u2028\n\u0000", "\ud800"] });
  await action(dir, "wolf");
  expect(verifyAudit(dir)).toMatchObject({ ok: true, entries: 3 });
});

test("writers at the same time make one chain", async () => {
  const dir = scratch();
  await Promise.all(Array.from({ length: 20 }, (_, n) => action(dir, `host-${n}`)));
  expect(verifyAudit(dir)).toEqual({ ok: true, entries: 40, unfinished: [] });
});

test("it is read by target, by day and from the end", async () => {
  const dir = await filled();
  expect(readAudit(dir, { target: "bear" }).map(({ seq }) => seq)).toEqual([3, 4]);
  expect(readAudit(dir, { since: new Date(Date.UTC(2025, 0, 2)) }).map(({ seq }) => seq)).toEqual([3, 4, 5, 6]);
  expect(readAudit(dir, { last: 1 }).map(({ seq }) => seq)).toEqual([6]);
  expect(readAudit(dir, { last: 1, target: "wolf" }).map(({ seq }) => seq)).toEqual([2]);
});

test("when it cannot be written, the action does not start", async () => {
  const link = scratch();
  symlinkSync(join(link, "elsewhere"), log(link));
  expect((await faultOf(() => action(link, "wolf"))).message).toContain("symbolic link");
  expect(readdirSync(link)).not.toContain("elsewhere");

  const file = join(scratch(), "file");
  writeFileSync(file, "");
  expect((await faultOf(() => action(file, "wolf"))).fault).toBe("state-readonly");
});
