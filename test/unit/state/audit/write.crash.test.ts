import { rmSync } from "node:fs";
import { join } from "node:path";
import { expect, test, vi } from "vitest";
import type * as AuditHead from "../../../../src/state/audit/head.js";
import { verifyAudit } from "../../../../src/state/audit/read.js";
import { beginAudit } from "../../../../src/state/audit/write.js";
import { scratchDirectories } from "../scratch.js";

const scratch = scratchDirectories();

/** Lines after which the writer dies before it can write the head. */
const crashesAfter = vi.hoisted(() => new Set<number>());
vi.mock("../../../../src/state/audit/head.js", async (original) => {
  const real = await original<typeof AuditHead>();
  const writeHead: typeof real.writeHead = (dir, link, before) => {
    if (crashesAfter.delete(link.seq)) throw new Error("crash");
    real.writeHead(dir, link, before);
  };
  return { ...real, writeHead };
});

const begin = (dir: string) => beginAudit(dir, { verb: "host add", target: "wolf", argv: [] });

test("a crash between the line and the head is no harm, several in a row neither", async () => {
  const dir = scratch();
  for (const seq of [1, 3, 4, 5]) crashesAfter.add(seq);
  for (let line = 1; line <= 7; line++) {
    const crashes = crashesAfter.has(line);
    const begun = begin(dir);
    if (crashes) await expect(begun).rejects.toThrow("crash");
    else await begun;
    expect(verifyAudit(dir)).toMatchObject({ ok: true, entries: line });
  }
  expect(crashesAfter.size).toBe(0);
});

test("a crash before the first line is no harm either", async () => {
  const dir = scratch();
  crashesAfter.add(0);
  await expect(begin(dir)).rejects.toThrow("crash");
  expect(verifyAudit(dir)).toMatchObject({ ok: true, entries: 0 });
  await begin(dir);
  expect(verifyAudit(dir)).toMatchObject({ ok: true, entries: 1 });
});

test("a log without a head is never the work of a crash", async () => {
  const dir = scratch();
  await begin(dir);
  rmSync(join(dir, "audit.head"));
  expect(verifyAudit(dir).ok).toBe(false);
});
