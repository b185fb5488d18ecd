import { readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { expect, test } from "vitest";
import { openJournal } from "../../../src/state/journal.js";
import { faultOf, scratchDirectories } from "./scratch.js";

const scratch = scratchDirectories();
const now = () => new Date("2025-01-02T03:04:05.678Z");
const deed = { verb: "host add", target: "wolf" };
const linesOf = (path: string) =>
  readFileSync(path, "utf8")
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));

test("it holds begin, each operation and the end", () => {
  const journal = openJournal(scratch(), deed, now);
  journal.note({ id: "user ada", result: "changed" });
  journal.note({ id: "unit x", result: "failed", why: "it does not start" });
  journal.close("failed");
  expect(basename(journal.path)).toMatch(/^20250102T030405\.678Z-host-add-[0-9a-f]{8}\.jsonl$/);
  expect(statSync(journal.path).mode & 0o777).toBe(0o600);
  expect(linesOf(journal.path)).toMatchObject([
    { at: "2025-01-02T03:04:05.678Z", event: "begin", verb: "host add", target: "wolf" },
    { event: "operation", id: "user ada", result: "changed" },
    { event: "operation", id: "unit x", result: "failed", why: "it does not start" },
    { event: "end", result: "failed" },
  ]);
});

test("what a killed command had done is there without an end", () => {
  const journal = openJournal(scratch(), deed, now);
  journal.note({ id: "user ada", result: "changed" });
  expect(linesOf(journal.path)).toHaveLength(2);
  journal.close("ok");
});

test("nothing but title, result and reason is written", () => {
  const journal = openJournal(scratch(), deed, now);
  const withMore = { id: "file .env", result: "changed", content: "KEY=hidden" };
  journal.note(withMore);
  journal.close("ok");
  expect(readFileSync(journal.path, "utf8")).not.toContain("hidden");
});

test("the last 200 are kept, and what is not a journal is left alone", () => {
  const dir = scratch();
  openJournal(dir, deed, now).close("ok");
  const directory = join(dir, "operations");
  for (let n = 0; n < 205; n++) {
    writeFileSync(join(directory, `20240101T000000.${String(n).padStart(3, "0")}Z-host-add-x.jsonl`), "");
  }
  writeFileSync(join(directory, "notes.txt"), "");
  const { path, close } = openJournal(dir, deed, now);
  close("ok");
  const names = readdirSync(directory);
  expect(names.filter((name) => name.endsWith(".jsonl"))).toHaveLength(200);
  expect(names).toContain(basename(path));
  expect(names).toContain("20240101T000000.204Z-host-add-x.jsonl");
  expect(names).not.toContain("20240101T000000.006Z-host-add-x.jsonl");
  expect(names).toContain("notes.txt");
});

test("when it cannot be begun, the work must not begin", async () => {
  const file = join(scratch(), "file");
  writeFileSync(file, "");
  expect((await faultOf(() => openJournal(file, deed, now))).fault).toBe("state-readonly");
});
