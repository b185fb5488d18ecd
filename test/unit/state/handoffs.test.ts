import { existsSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { readAudit, verifyAudit } from "../../../src/state/audit/read.js";
import { beginAudit, endAudit } from "../../../src/state/audit/write.js";
import { type Handoff, openHandoffs } from "../../../src/state/handoffs.js";
import { scratchDirectories } from "./scratch.js";

const scratch = scratchDirectories();

const handoff: Handoff = {
  id: "handoff-0123456789ab",
  asked: "0a",
  planted: "a note",
  stage: "begun",
  at: "2026-01-02T03:04:05.000Z",
  from: { host: "wolf-i", agent: "ada", session: "api-1" },
  to: { host: "wolf-ii", agent: "ben" },
};

it("keeps open handoffs with their progress, and nothing else", async () => {
  const dir = join(scratch(), "config");
  const handoffs = openHandoffs(dir);
  expect(handoffs.all()).toEqual([]);
  await handoffs.drop(handoff.id);
  expect(existsSync(dir)).toBe(false);
  await handoffs.put(handoff);
  const proven: Handoff = { ...handoff, stage: "proven", moved: { hash: "1b", messages: 4, calls: 1 } };
  await handoffs.put(proven);
  await handoffs.put({ ...handoff, id: "handoff-another", close: { last: null } });
  expect(openHandoffs(dir).all()).toEqual([proven, { ...handoff, id: "handoff-another", close: { last: null } }]);
  await handoffs.drop(handoff.id);
  expect(handoffs.all().map(({ id }) => id)).toEqual(["handoff-another"]);
  expect(statSync(join(dir, "handoffs.json")).mode & 0o777).toBe(0o600);
});

it("remembers removed messages until nothing can write them again", async () => {
  const dir = join(scratch(), "config");
  const handoffs = openHandoffs(dir);
  const { id, to } = handoff;
  expect(handoffs.removed(to)).toEqual([]);
  await handoffs.put(handoff);
  const at = new Date("2026-01-02T03:00:00Z");
  await handoffs.remove(id, to, at);
  await handoffs.remove(`${id}-summary`, { host: "wolf-i", agent: "ben" }, at);
  expect([handoffs.all(), openHandoffs(dir).removed(to)]).toEqual([[], [id]]);
  const later = (minutes: number) => new Date(at.getTime() + minutes * 60_000);
  await handoffs.swept([id], later(14));
  expect(handoffs.removed(to)).toEqual([id]);
  // Messages not searched for are searched once more, however old.
  await handoffs.swept(["another"], later(60));
  expect(handoffs.removed(to)).toEqual([id]);
  await handoffs.swept([id], later(16));
  expect([handoffs.removed(to), handoffs.removed({ host: "wolf-i", agent: "ben" })]).toEqual([[], [`${id}-summary`]]);
});

it("refuses an unknown stage", async () => {
  const handoffs = openHandoffs(join(scratch(), "config"));
  await expect(handoffs.put({ ...handoff, stage: "half" as never })).rejects.toMatchObject({ fault: "bug" });
});

it("the result of an action is in the audit log's chain", async () => {
  const dir = scratch();
  const detail = {
    handoff: { id: handoff.id, from: { agent: "wolf-i/ada", session: "api-1" }, messages: 4, hash: "1b" },
  };
  const begun = await beginAudit(dir, { verb: "handoff", target: "wolf-ii/ben", argv: ["handoff"] });
  await endAudit(dir, begun, { result: "ok", detail });
  expect(readAudit(dir).map((entry) => entry.detail)).toEqual([undefined, detail]);
  expect(verifyAudit(dir).ok).toBe(true);
  const { writeFileSync } = await import("node:fs");
  const path = join(dir, "audit.jsonl");
  writeFileSync(path, readFileSync(path, "utf8").replace('"messages":4', '"messages":5'));
  expect(verifyAudit(dir).ok).toBe(false);
});
