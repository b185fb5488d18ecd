import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { recognise } from "../../../../src/agents/doctor/causes.js";
import { examine } from "../../../../src/agents/doctor/examine.js";
import { clockFrom, symptomsFrom, symptomsScript } from "../../../../src/agents/doctor/symptoms.js";
import { agentChecks, isAgentCheck } from "../../../../src/agents/manifest/agent-checks.js";
import { loadType } from "../../../../src/agents/manifest/registry.js";
import { resolvedAgent } from "../../../../src/agents/plan/resolved-agent.js";
import { parseStatusObservations } from "../../../../src/agents/probe/status/observation.js";
import { agentNameFrom } from "../../../../src/names.js";
import { commandFor } from "../../../../src/remote/stdin-script.js";
import { sampleAgent } from "../../state/sample-agent.js";
import { healthyLines } from "../probe/healthy-lines.js";

const { manifest } = await loadType("/nonexistent", "hermes");
const agent = resolvedAgent(manifest, {
  name: agentNameFrom("ada"),
  ref: "ada",
  host: { name: "wolf-i" } as never,
  record: sampleAgent("ada", { mark: "0123abcd" }),
});

const read = (file: string) => parse(readFileSync(`test/cases/doctor/${file}.yaml`, "utf8"));

describe("causes", () => {
  const cases = Object.entries(read("causes") as Record<string, string[]>).flatMap(([id, lines]) =>
    lines.map((line) => [id, line] as const),
  );

  it.each(cases)("%s: %s", (id, text) => {
    const found = recognise(agent, [{ at: 0, text }]).map(({ cause }) => cause.id);
    expect(found).toEqual(id === "none" ? [] : [id]);
  });

  it("each has a line that matches it, and its own id", () => {
    const ids = manifest.causes.map(({ id }) => id);
    expect(new Set(ids).size).toBe(ids.length);
    expect(new Set(cases.map(([id]) => id))).toEqual(new Set([...ids, "none"]));
  });

  it("each points to existing checks, and names a fix", () => {
    for (const { checks = [], next } of manifest.causes) {
      expect(next).toMatch(/^clm /);
      for (const check of checks)
        expect([check, isAgentCheck(check, Object.keys(manifest.channels))]).toEqual([check, true]);
    }
  });
});

interface Case {
  about: string;
  wanted?: "run" | "rest" | "nothing";
  lines?: string[];
  no?: string[];
  /** Minutes ago, and the line. */
  journal?: [number, string][];
  errors?: [number, string][];
  /** Minutes ago. */
  oom?: number;
  channels?: string[];
  servers?: string[];
  unanswered?: string;
  key?: "missing" | "changing";
  proven?: { ago: number; chat: boolean };
  ahead?: number;
  within?: number;
  expect: Record<string, [result: string, reason?: string, fix?: string]>;
  absent?: string[];
}

const now = Date.UTC(2026, 10, 16, 12, 0, 0);
const keyOf = (line: string) => line.slice(0, line.indexOf("="));

function sightOf({ lines = [], no = [] }: Case) {
  const given = new Set([...lines.map(keyOf), ...no]);
  const kept = [...healthyLines("2026.7.1"), "unit.Result=success", "disk=9000000 1000 900"].filter(
    (line) => !given.has(keyOf(line)),
  );
  const encoded = lines.map((line) =>
    line.startsWith("gateway=") ? `gateway=${Buffer.from(line.slice(8)).toString("base64")}` : line,
  );
  // A holder follows its listener.
  const order = (line: string) => ["listen", "holder"].indexOf(keyOf(line));
  const all = [...kept, ...encoded].sort((a, b) => order(a) - order(b));
  const [sight] = parseStatusObservations([...all, "end=yes"].map((line) => `0 ${line}`).join("\n"), 1);
  if (!sight) throw new Error("nothing was seen");
  return sight;
}

function symptomsOf({ journal = [], errors = [], oom, ahead = 0 }: Case) {
  // By the host's clock, two hours east of here.
  const at = (minutes: number) => now + ahead * 1000 - minutes * 60_000;
  const unix = (minutes: number) => `${(at(minutes) / 1000).toFixed(6)} wolf-i hermes[700]:`;
  const local = (minutes: number) =>
    new Date(at(minutes) + 7_200_000).toISOString().replace("T", " ").replace(".", ",").slice(0, 23);
  const lines = [
    "zone=+0200",
    ...journal.map(([ago, text]) => `journal=${unix(ago)} ${text}`),
    ...errors.map(([ago, text]) => `error=${local(ago)} ${text}`),
    ...(oom === undefined ? [] : [`oom=${unix(oom)} hermes-ada.service: Failed with result 'oom-kill'.`]),
    "end=yes",
  ];
  const [symptoms] = symptomsFrom(lines.map((line) => `0 ${line}`).join("\n"), 1);
  if (!symptoms) throw new Error("nothing was said");
  return symptoms;
}

describe("the diagnosis", () => {
  it.each((read("checks") as Case[]).map((each) => [each.about, each] as const))("%s", (_about, each) => {
    const checks = examine({
      resolved: { ...agent, channels: each.channels ?? [], servers: each.servers ?? [] },
      observation: sightOf(each),
      symptoms: symptomsOf(each),
      now,
      clock: { ahead: each.ahead ?? 0, within: each.within ?? 0.2 },
      wanted: each.wanted ?? "run",
      key: each.key,
      unanswered: each.unanswered,
      proven: each.proven && { at: now - each.proven.ago * 60_000, chat: each.proven.chat },
    });
    const ids = checks.map(({ id }) => id);
    expect(new Set(ids).size).toBe(ids.length);
    for (const id of [...Object.keys(each.expect), ...(each.absent ?? [])])
      expect([id, ids.includes(id)]).toEqual([id, Object.hasOwn(each.expect, id)]);
    for (const { id, result, reason, fix } of checks) {
      const [wanted, why, what] = each.expect[id] ?? [];
      if (wanted) expect([id, result, reason]).toEqual([id, wanted, reason]);
      else expect([id, reason, ["ok", "skipped"].includes(result)]).toEqual([id, reason, true]);
      if (why?.startsWith("/")) expect(reason).toMatch(new RegExp(why.slice(1, -1)));
      else if (why) expect(reason).toBe(why);
      if (what) expect(fix).toBe(what);
      // Every problem names a fix, and every check is listed.
      if (result === "fail") expect(fix).toMatch(/^clm /);
      expect(id).toMatch(new RegExp(`^(${Object.keys(agentChecks).join("|")}|channel\\..+|mcp\\..+|log\\..+)$`));
    }
  });
});

describe("symptoms", () => {
  it("belong to the agent with their number, and are nothing when they broke off", () => {
    const [first, second] = symptomsFrom("clock=1\n0 zone=+0000\n1 zone=+0000\n1 end=yes\n0 journal=x\n", 2);
    expect([first, second?.words]).toEqual([undefined, []]);
  });

  it("are in time order; lines without a time follow the line before", () => {
    const [symptoms] = symptomsFrom(
      [
        "0 zone=-0130",
        "0 journal=    a line of nobody's",
        "0 journal=1700000000.500000 wolf-i hermes[7]: ERROR gateway.run: first",
        "0 error=2023-11-14 20:43:21,000 ERROR asyncio: third",
        "0 error=discord.errors.LoginFailure: fourth",
        "0 journal=1700000000.700000 wolf-i systemd[1]: hermes-ada.service: second",
        "0 end=yes",
      ].join("\n"),
      1,
    );
    expect(symptoms?.words.map(({ at, text }) => [at, text])).toEqual([
      [1_700_000_000_500, "gateway.run: first"],
      [1_700_000_000_700, "hermes-ada.service: second"],
      [1_700_000_001_000, "asyncio: third"],
      [1_700_000_001_000, "discord.errors.LoginFailure: fourth"],
    ]);
  });

  it("that were written in summer are read in winter", () => {
    const lines = ["0 zone=+0100 Europe/Berlin", "0 error=2026-07-01 12:00:00,000 ERROR x: y", "0 end=yes"];
    expect(symptomsFrom(lines.join("\n"), 1)[0]?.words[0]?.at).toBe(Date.UTC(2026, 6, 1, 10));
  });

  it("measure the clock as exactly as the round trip allows", () => {
    expect(clockFrom("clock=1700000010.5\n", 1_700_000_000_000, 1_700_000_001_000)).toEqual({ ahead: 10, within: 0.5 });
    expect(clockFrom("", 0, 1)).toBeUndefined();
  });

  it("are asked for by a script that every shell can read", () => {
    for (const shell of [["dash"], ["bash"], ["busybox", "sh"]]) {
      const [program = "", ...args] = shell;
      const input = symptomsScript([agent, { ...agent, unit: "a'b; reboot" }]);
      const { status, stderr } = spawnSync(program, [...args, "-n"], { input, encoding: "utf8" });
      expect([shell, status, stderr]).toEqual([shell, 0, ""]);
    }
  });

  // Since when its lines count, in seconds before now: since its start, or the last minutes when it keeps ending.
  it.each([
    ["up for long, restarted before that", { began: 5000, restarts: 3 }, 5000],
    ["up for a moment, for the first time", { began: 10, restarts: 0 }, 10],
    ["up for a moment, restarted just before that", { began: 10, restarts: 3 }, 600],
  ])("count since its start: %s", (_about, { began, restarts }, since) => {
    const bin = mkdtempSync(join(tmpdir(), "clm-doctor-"));
    const now = Math.floor(Date.now() / 1000);
    const program = (name: string, text: string) =>
      writeFileSync(join(bin, name), `#!/bin/sh\n${text}\n`, { mode: 0o755 });
    const started = new Date((now - began) * 1000).toISOString().replace(/T(.*)Z/, " $1 UTC");
    program("systemctl", `echo 'ExecMainStartTimestamp=${started}'; echo NRestarts=${restarts}`);
    program("journalctl", 'echo "$@"');
    const env = { PATH: `${bin}:${process.env.PATH}` };
    const nobody = { ...agent, user: "nobody-of-that-name" };
    const input = symptomsScript([nobody]);
    const { stdout } = spawnSync("sh", ["-c", commandFor(input)], { input, encoding: "utf8", env });
    rmSync(bin, { recursive: true });
    const said = Number(/^0 journal=.* --since=@([\d.]+)$/m.exec(stdout)?.[1]);
    // The script looks at the clock by itself, a little later.
    expect(Math.abs(now - said - since)).toBeLessThanOrEqual(30);
  });
});
