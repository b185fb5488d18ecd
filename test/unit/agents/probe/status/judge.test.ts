import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { loadType } from "../../../../../src/agents/manifest/registry.js";
import { resolvedAgent } from "../../../../../src/agents/plan/resolved-agent.js";
import { type ExpectedStatus, isAsIntended, judgeStatus } from "../../../../../src/agents/probe/status/judge.js";
import { parseStatusObservations } from "../../../../../src/agents/probe/status/observation.js";
import { refreshStatus } from "../../../../../src/agents/probe/status/refresh.js";
import { quickStatusScript, statusScript } from "../../../../../src/agents/probe/status/script.js";
import type { Intent, KeyTrouble } from "../../../../../src/agents/probe/status/troubles.js";
import { agentNameFrom } from "../../../../../src/names.js";
import { sampleAgent } from "../../../state/sample-agent.js";
import { healthyLines } from "../healthy-lines.js";

interface Case {
  about: string;
  lines?: string[];
  no?: string[];
  drift?: ExpectedStatus["drift"];
  wanted?: Intent;
  channels?: string[];
  servers?: string[];
  unanswered?: string;
  key?: KeyTrouble;
  unfinished?: string;
  state: string;
  reason?: string;
  sight?: object;
}

const { manifest } = await loadType("/nonexistent", "hermes");
const agent = resolvedAgent(manifest, {
  name: agentNameFrom("ada"),
  ref: "ada",
  host: { name: "wolf-i" } as never,
  record: sampleAgent("ada", { mark: "0123abcd" }),
});

const keyOf = (line: string) => line.slice(0, line.indexOf("="));
const encoded = (line: string) =>
  line.startsWith("gateway=") ? `gateway=${Buffer.from(line.slice(8)).toString("base64")}` : line;

/** As status.sh prints them, of the second of two agents. */
function printed({ lines = [], no = [] }: Case): string {
  const given = new Set(lines.map(keyOf));
  const kept = [...healthyLines("2026.7.1"), "end=yes"].filter(
    (line) => !given.has(keyOf(line)) && !no.includes(keyOf(line)),
  );
  const all = [...kept.slice(0, -1), ...lines.map(encoded), ...kept.slice(-1)];
  return ["0 uid=5", ...all.map((line) => `1 ${line}`), "0 end=yes", "end=yes", ""].join("\n");
}

describe("how an agent is", () => {
  it.each(
    (parse(readFileSync("test/cases/status-judge/state.yaml", "utf8")) as Case[]).map(
      (each) => [each.about, each] as const,
    ),
  )("%s", (_about, each) => {
    const [, sight] = parseStatusObservations(printed(each), 2);
    if (each.state === "unknown") return expect(sight).toBeUndefined();
    if (!sight) throw new Error("nothing was seen");
    if (each.sight) expect(sight).toMatchObject(each.sight);
    const { drift = [], wanted = "run", channels = [], servers = [], key, unfinished, unanswered } = each;
    const about = { ...agent, channels, servers };
    const { state, reason } = judgeStatus(about, sight, { drift, wanted, key, unfinished, unanswered });
    expect(state).toBe(each.state);
    if (each.reason !== undefined || state === "running") expect(reason || undefined).toBe(each.reason || undefined);
  });
});

describe("processes outside its unit", () => {
  const stopped = { about: "", state: "", lines: ["unit.ActiveState=inactive", "strays=1", "stray=5 sh"] };
  const standing = (adopted: boolean) => {
    const [, sight] = parseStatusObservations(printed({ ...stopped, no: ["age", "listen", "holder", "health"] }), 2);
    if (!sight) throw new Error("nothing was seen");
    return { wanted: "rest" as const, ...judgeStatus({ ...agent, adopted }, sight, { wanted: "rest" }) };
  };

  it("make a stopped agent unhealthy", () => expect(isAsIntended(standing(false))).toBe(false));
  it("are a person's own when the agent was taken over", () => expect(isAsIntended(standing(true))).toBe(true));
});

describe("a short look", () => {
  const seenBy = (lines: string[], no: string[] = []) =>
    parseStatusObservations(printed({ about: "", state: "", lines, no }), 2)[1];
  const after = (...lines: string[]) => {
    const whole = seenBy(["touched=1 2", "cpu.last=1000 5000000", "reach=0 200", "reach.spare=0 200"]);
    const given = lines.map(keyOf);
    const rest = ["age=2000", "touched=1 2", "reach=0 401", "reach.spare=0 200"].filter(
      (line) => !given.includes(keyOf(line)),
    );
    const glance = seenBy([...rest, ...lines], ["none", "wrong", "own", "version"]);
    return whole && glance && refreshStatus(whole, glance);
  };

  it("keeps the proofs, and updates the numbers", () => {
    const still = after("cpu.first=1100 5500000", "memory=4096");
    expect(still).toMatchObject({ busy: 50, memory: 4096, basics: { age: 20, answers: { own: 200 } } });
    expect(still).toMatchObject({ reach: { status: 401 }, others: { spare: { status: 200 } } });
    expect(still && judgeStatus(agent, still).state).toBe("running");
  });

  it.each([
    ["unit.MainPID=701"],
    ["unit.NRestarts=1"],
    ["unit.ActiveState=failed"],
    ["age=3"],
    ["holder=no 99 bob nc"],
    ["listen=00000000/7", "holder=yes 700 ada hermes"],
    ["health=503"],
    ["touched=3 2"],
    ["disk=1 0 0"],
    ['gateway={"platforms":{"discord":{"state":"fatal","updated_at":"2026-11-16T11:00:01+00:00"}}}'],
    ["uid="],
    ["reach=7 000"],
    ["reach.spare=0 502"],
  ])("%s asks for a whole one", (...lines) => {
    expect(after(...lines)).toBeUndefined();
  });
});

it("the script can be read by every shell, and holds no key", () => {
  const looked = [
    { resolved: agent, reach: "http://127.0.0.1:1/v1", others: { spare: "http://127.0.0.1:2/" } },
    { resolved: agent, rendered: { salt: "00" } },
  ];
  const script = statusScript(looked) + quickStatusScript(looked);
  for (const shell of [["dash"], ["bash"], ["busybox", "sh"]]) {
    const [program = "", ...args] = shell;
    const { status, stderr } = spawnSync(program, [...args, "-n"], { input: script, encoding: "utf8" });
    expect([shell, status, stderr]).toEqual([shell, 0, ""]);
  }
});
