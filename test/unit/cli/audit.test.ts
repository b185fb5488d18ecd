import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { beginAudit, endAudit } from "../../../src/state/audit/write.js";
import { clm } from "./world.js";

const dir = mkdtempSync(join(tmpdir(), "clm-audit-"));
afterAll(() => rmSync(dir, { recursive: true, force: true }));

beforeAll(async () => {
  const at = (time: string) => () => new Date(`2026-01-01T${time}Z`);
  const add = await beginAudit(
    dir,
    { verb: "host add", target: "wolf-i", argv: ["host", "add", "wolf-i"] },
    at("10:00:00"),
  );
  const check = await beginAudit(dir, { verb: "host exec", target: "lab-1", argv: ["host", "exec"] }, at("10:00:05"));
  await endAudit(dir, add, { result: "ok" }, at("10:00:12"));
  await endAudit(dir, check, { result: "failed", fault: "CLM-2002" }, at("10:01:05"));
  await beginAudit(dir, { verb: "host remove", target: "wolf-i", argv: ["host", "remove"] }, at("10:02:00"));
});

const audit = (...options: string[]) => clm(["audit", "--config-dir", dir, ...options]);

describe("clm audit", () => {
  it("shows a line for each command, with its end", async () => {
    const lines = (await audit()).stdout.trimEnd().split("\n");
    expect(lines[0]).toMatch(/^BEGAN +TOOK +WHO +DID +TO +RESULT$/);
    expect(lines[1]).toMatch(/^2026-01-01 10:00:00Z +12s +\S.* +host add +wolf-i +ok$/);
    expect(lines[2]).toMatch(/^2026-01-01 10:00:05Z +1m +\S.* +host exec +lab-1 +failed CLM-2002$/);
    expect(lines[3]).toMatch(/^2026-01-01 10:02:00Z +- +\S.* +host remove +wolf-i +unfinished$/);
    expect(lines).toHaveLength(4);
  });

  it("on 80 columns keeps when, what and how it ended", async () => {
    const { stdout } = await clm(["audit", "--config-dir", dir], { tty: { columns: 60 } });
    expect(stdout.split("\n")[0]).toMatch(/^BEGAN +DID +TO +RESULT$/);
    expect(stdout).toContain("2026-01-01 10:00:05Z   host exec     lab-1");
    expect(stdout).toContain("failed CLM-2002");
  });

  it("finds the actions on a target, and the last one", async () => {
    const all = JSON.parse((await audit("--target", "wolf-i", "-o", "json")).stdout);
    expect(all.map(({ verb }: { verb: string }) => verb)).toEqual(["host add", "host remove"]);
    const [last] = JSON.parse((await audit("--target", "wolf-i", "--last", "1", "-o", "json")).stdout);
    expect(last).toMatchObject({ verb: "host remove", argv: ["host", "remove"], result: "unfinished" });
  });

  it("reports an empty log", async () => {
    expect(await clm(["audit", "--config-dir", join(dir, "missing")])).toEqual({
      code: 0,
      stdout: "",
      stderr: "No changes yet.\n",
    });
  });

  it("verifies, and names the line that was changed", async () => {
    expect(await audit("--verify")).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^the audit log is intact: 5 lines\nunfinished: host remove wolf-i/),
    });
    const path = join(dir, "audit.jsonl");
    const text = readFileSync(path, "utf8");
    writeFileSync(path, text.replace('"result":"failed"', '"result":"ok"'));
    const { code, stderr } = await audit("--verify", "-o", "json");
    writeFileSync(path, "");
    const emptied = await audit("--verify");
    writeFileSync(path, text);
    expect(emptied.stderr).toContain("\n  the log is empty: entries 1 to 5 are missing\n");
    expect(code).toBe(30);
    expect(JSON.parse(stderr).error).toMatchObject({ code: "CLM-6001", data: { entries: 5, line: 4 } });
  });
});

it("clm version prints its platform", async () => {
  const { stdout } = await clm(["version", "-o", "json"]);
  expect(JSON.parse(stdout)).toMatchObject({ version: expect.stringMatching(/^\d/), node: process.version });
});

it("clm completion prints a script and nothing else", async () => {
  expect(await clm(["completion", "bash"])).toMatchObject({
    code: 0,
    stdout: expect.stringContaining("_clm()"),
    stderr: "",
  });
});
