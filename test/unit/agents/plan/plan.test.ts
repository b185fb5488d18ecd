import { describe, expect, it } from "vitest";
import { desiredState } from "../../../../src/agents/plan/desired-state.js";
import { planFor, type ServiceState } from "../../../../src/agents/plan/plan.js";
import { parseObservation } from "../../../../src/agents/probe/proof/observation.js";
import * as renderer from "../../../../src/agents/program/files.js";
import { agentNameFrom } from "../../../../src/names.js";
import type { AgentRecord } from "../../../../src/state/agent.js";
import { manifest, programAnswers, sampleProgram } from "../program/program-agent.js";

const upload = (name: string, text = name, executable = false) => ({ name, content: Buffer.from(text), executable });
const path = (name: string): string => `/home/bot/app/${name}`;

function desired(record: AgentRecord, uploads = [upload("bot.py")]) {
  const host = { name: "wolf-i" } as never;
  return desiredState(
    renderer,
    manifest,
    { name: agentNameFrom("bot"), ref: "bot", host, record },
    record,
    programAnswers({ uploads }),
  );
}

function plan(owned: Record<string, string[]>, serviceState: ServiceState, active: string) {
  const record = sampleProgram({ command: "x" }, { rendered: { owned, digest: "", at: "" } });
  const lines = ["uid=1001", "systemd=252", "unit.LoadState=loaded", `unit.ActiveState=${active}`, "end=yes", ""];
  const observation = parseObservation(lines.join("\n"));
  if (!observation) throw new Error("it does not go to the end");
  const { operations } = planFor(desired(record), observation, { salt: "", serviceState });
  return {
    removed: operations.flatMap((each) => (each.kind === "absent" ? each.name : [])),
    unit: operations.flatMap((each) => (each.kind === "unit" ? (each.state ?? "as it is") : [])),
    restarting: operations.flatMap((each) => (each.kind === "file" && each.restarts ? each.path : [])),
  };
}

describe("a file that is not named any more", () => {
  const [now, before] = [{ "file:bot.py": [path("bot.py")] }, { "file:old.py": [path("old.py")] }];

  it.each<[string, Record<string, string[]>, ServiceState, string, { removed: string[]; unit: string[] }]>([
    [
      "is removed, and the running program restarts",
      { ...now, ...before },
      "up",
      "active",
      { removed: [path("old.py")], unit: ["restarted"] },
    ],
    [
      "is removed where it does not run",
      { ...now, ...before },
      "up",
      "inactive",
      { removed: [path("old.py")], unit: ["started"] },
    ],
    [
      "is removed where it is to stay stopped",
      { ...now, ...before },
      "down",
      "inactive",
      { removed: [path("old.py")], unit: ["stopped"] },
    ],
    ["is not there: nothing is removed", now, "up", "active", { removed: [], unit: ["started"] }],
  ])("%s", (_about, owned, state, active, expected) => {
    expect(plan(owned, state, active)).toMatchObject(expected);
  });

  it("does not keep changes of other files from a restart", () => {
    expect(plan(before, "up", "active").restarting).toContain(path("bot.py"));
    expect(plan(before, "down", "inactive").restarting).toEqual([]);
  });
});

describe("the digest of what a program is told", () => {
  const settings = { command: "./run", health: "http", health_path: "/ok" };
  const digest = (more: Record<string, string> = {}, uploads = [upload("bot.py", "text")]) =>
    desired(sampleProgram({ ...settings, ...more }), uploads).digest;

  it("is the same for the same", () => {
    expect(digest()).toBe(digest());
    // The order in which settings were answered means nothing.
    expect(digest({ command: "./run" })).toBe(
      desired(sampleProgram({ health_path: "/ok", health: "http", command: "./run" }), [upload("bot.py", "text")])
        .digest,
    );
  });

  it.each([
    ["another command", digest({ command: "./other" })],
    ["another health check", digest({ health: "tcp" })],
    ["another path of it", digest({ health_path: "/" })],
    ["a variable", digest({ environment: "A=1" })],
    ["another content", digest({}, [upload("bot.py", "other")])],
    ["another name of a file", digest({}, [upload("main.py", "text")])],
    ["a file that can be run", digest({}, [upload("bot.py", "text", true)])],
    ["no file", digest({}, [])],
  ])("is another with %s", (_about, other) => {
    expect(other).not.toBe(digest());
  });
});
