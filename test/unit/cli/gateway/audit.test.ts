import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { RequestLog } from "../../../../src/gateway/audit/log.js";
import { call, ending } from "../../gateway/audit/calls.js";
import { memory } from "../../ui/streams.js";
import { clm } from "../world.js";

const dir = mkdtempSync(join(tmpdir(), "clm-gateway-audit-"));
const file = join(dir, "gateway", "audit.jsonl");
let log: RequestLog;
afterAll(async () => {
  await log.close();
  rmSync(dir, { recursive: true, force: true });
});

beforeAll(async () => {
  log = await RequestLog.open(join(dir, "gateway"));
  await log.write(call(1), ending());
  await log.write(
    call(2, { model: "evil\u001b[2J\nname" }),
    ending({ status: 429, code: "rate_limit_exceeded", took: 0.4 }),
  );
  const { key: _key, target: _target, ...stranger } = call(3);
  await log.write(stranger, { status: 401, code: "invalid_api_key", took: 0.2 });
  await log.write(
    call(4, { target: "bear/ben/proxy" }),
    ending({ tokens: { input: 1, output: 2, estimated: true }, usd: 1.5 }),
  );
});

const audit = (...options: string[]) => clm(["gateway", "audit", "--config-dir", dir, ...options]);
const ids = async (...options: string[]) =>
  JSON.parse((await audit(...options, "-o", "json")).stdout).map(({ seq }: { seq: number }) => seq);

describe("clm gateway audit", () => {
  it("shows a line for each request", async () => {
    const lines = (await audit()).stdout.trimEnd().split("\n");
    expect(lines[0]).toMatch(/^TIME +WHO +AGENT +MODEL +STATUS +TOKENS +USD +MS$/);
    expect(lines[1]).toMatch(/^2026-01-01 10:00:01Z +codex +wolf-i\/ada +ada +200 +12\+30 +\$0\.0020 +42$/);
    expect(lines[2]).toMatch(
      /^2026-01-01 10:00:02Z +codex +wolf-i\/ada +evil name +429 rate_limit_exceeded +12\+30 +\$0\.0020 +0$/,
    );
    expect(lines[3]).toMatch(/^2026-01-01 10:00:03Z +127\.0\.0\.1 +- +ada +401 invalid_api_key +- +- +0$/);
    expect(lines[4]).toMatch(/^2026-01-01 10:00:04Z +codex +bear\/ben\/proxy +ada +200 +~1\+2 +\$1\.50 +42$/);
    expect(lines).toHaveLength(5);
  });

  it.each<[string[], number[]]>([
    [
      ["--limit", "2"],
      [3, 4],
    ],
    [["--limit", "0"], []],
    [
      ["--key", "codex"],
      [1, 2, 4],
    ],
    [["--key", "abcd1234", "--limit", "1"], [4]],
    [
      ["--agent", "ada"],
      [1, 2],
    ],
    [["--agent", "bear/ben"], [4]],
    [["--agent", "*e*/*"], [4]],
    // Without a host, a pattern is one of names.
    [["--agent", "b*n"], [4]],
    [["--agent", "b*r*"], []],
    [["--agent", "proxy"], []],
    [
      ["--status", "4xx"],
      [2, 3],
    ],
    [["--status", "429"], [2]],
    [["--status", "invalid_api_key"], [3]],
    [
      ["--since", "2026-01-01T10:00:03Z"],
      [3, 4],
    ],
    [["--since", "2026-01-01T10:00:03Z", "--key", "codex"], [4]],
  ])("finds %j", async (options, found) => {
    expect(await ids(...options)).toEqual(found);
  });

  it("detects a removed log by its counters", async () => {
    const other = mkdtempSync(join(tmpdir(), "clm-gateway-wiped-"));
    mkdirSync(join(other, "gateway"), { mode: 0o700 });
    writeFileSync(join(other, "gateway", "usage.json"), `{ "version": 1, "seq": 4, "rows": [] }\n`, { mode: 0o600 });
    const { code, stderr } = await clm(["gateway", "audit", "--config-dir", other, "--verify"]);
    rmSync(other, { recursive: true });
    expect([code, stderr]).toEqual([
      30,
      expect.stringContaining("usage.json counts 4 lines, and the log ends with none"),
    ]);
  });

  it("reports an unknown key", async () => {
    const { code, stderr } = await audit("--key", "nobody");
    expect([code, stderr]).toEqual([4, expect.stringContaining("nobody")]);
  });

  it.each([
    [["--status", "4XX!"], "--status 4XX! is not a status"],
    [["--since", "soon"], "--since soon is not a time"],
    [["--verify", "--key", "codex"], "--verify checks the whole log and cannot be combined with --key"],
    [["--verify", "-f"], "--verify checks the whole log and cannot be combined with --follow"],
  ])("refuses %j", async (options, why) => {
    const { code, stderr } = await audit(...options);
    expect([code, stderr]).toEqual([2, expect.stringContaining(why)]);
  });

  it("reports an empty log", async () => {
    const { code, stdout, stderr } = await clm(["gateway", "audit", "--config-dir", join(dir, "missing")]);
    expect([code, stdout, stderr]).toEqual([0, "", "No requests yet.\n"]);
  });

  it("verifies, also while the gateway runs, and names the place that was changed", async () => {
    expect(await audit("--verify")).toEqual({
      code: 0,
      stdout: "the gateway's audit log is intact: 4 lines\n",
      stderr: "",
    });
    const before = readFileSync(file, "utf8");
    writeFileSync(file, before.replace('"name":"codex"', '"name":"other"'));
    try {
      const { code, stderr } = await audit("--verify");
      expect(code).toBe(30);
      expect(stderr).toContain("the gateway's audit log was changed [CLM-6001]");
      expect(stderr).toContain("audit.jsonl line 1: it was changed, or the line before it was");
      const { data } = JSON.parse((await audit("--verify", "-o", "json")).stderr).error;
      expect(data).toMatchObject({ entries: 4, file: "audit.jsonl", line: 1, seq: 1 });
    } finally {
      writeFileSync(file, before);
    }
  });

  it.each([
    [
      "json",
      (text: string) =>
        text
          .split("\n")
          .slice(0, -1)
          .map((line) => JSON.parse(line).id),
    ],
    [
      "table",
      (text: string) =>
        text
          .split("\n")
          .slice(0, -1)
          .map((line) => `req-${Number(/10:0(\d:\d\d)Z/.exec(line)?.[1]?.split(":")[1])}`),
    ],
  ])("follows new lines until it is stopped (%s)", async (format, read) => {
    const stop = new AbortController();
    const stdout = memory();
    const ended = clm(["gateway", "audit", "-f", "--limit", "1", "--agent", "ben", "--config-dir", dir, "-o", format], {
      stdout,
      signal: stop.signal,
    });
    await vi.waitFor(() => expect(read(stdout.text())).toEqual(["req-4"]), 20_000);
    await log.write(call(5), ending());
    await log.write(call(4, { target: "bear/ben" }), ending());
    await vi.waitFor(() => expect(read(stdout.text())).toEqual(["req-4", "req-4"]), 20_000);
    stop.abort();
    expect((await ended).code).toBe(0);
  });
});
