import { describe, expect, it } from "vitest";
import { loadType } from "../../../../src/agents/manifest/registry.js";
import { resolvedAgent } from "../../../../src/agents/plan/resolved-agent.js";
import { judge } from "../../../../src/agents/probe/proof/judge.js";
import { parseObservation } from "../../../../src/agents/probe/proof/observation.js";
import { requiredWithForce } from "../../../../src/flows/agent/preconditions.js";
import { isMerelyStopped } from "../../../../src/flows/agent/prove.js";
import { agentNameFrom } from "../../../../src/names.js";
import { installedLines } from "../../agents/probe/healthy-lines.js";
import { sampleAgent } from "../../state/sample-agent.js";

const { manifest } = await loadType("/nowhere", "hermes");
const agent = resolvedAgent(manifest, {
  name: agentNameFrom("ada"),
  ref: "ada",
  host: { name: "wolf-i" } as never,
  record: sampleAgent("ada", { onboarding: { state: "validate", stages: {} } }),
});

const installed = installedLines("2026.7.1");
const up = [...installed, "unit.ActiveState=active", "unit.SubState=running", "unit.NRestarts=0", "age=1000"];
const loopback = ["listen=0100007F/7", "holder=yes 700 ada hermes"];
const everywhere = ["listen=00000000/7", "holder=yes 700 ada hermes"];
const stranger = ["listen=00000000/7", "holder=no 900 bob python3"];
const answers = (none: number, wrong: number) => ["health=200", `none=${none}`, `wrong=${wrong}`, "own=401"];

function look(lines: string[]) {
  const observation = parseObservation([...lines, "end=1"].join("\n"));
  if (!observation) throw new Error("the lines do not go to the end");
  return { observation, proofs: judge(agent, observation, { noChat: "not asked" }) };
}

describe("an agent that is started by force", () => {
  const failed = (lines: string[]) => {
    const { proofs, observation } = look(lines);
    return requiredWithForce(proofs, observation)
      .filter(({ result }) => result === "fail")
      .map(({ id }) => id);
  };

  it.each<[string, string[], string[]]>([
    ["may have nothing to answer with", up, []],
    ["may listen and not answer", [...up, ...loopback, ...answers(0, 0)], []],
    ["may refuse its own key", [...up, ...loopback, ...answers(401, 401)], []],
    ["may find its port taken", [...up, ...stranger], []],
    ["must be up", [...installed, "unit.ActiveState=failed"], ["unit"]],
    ["must not let anybody in", [...up, ...loopback, ...answers(200, 401)], ["auth.no-key"]],
    ["must not take any key", [...up, ...loopback, ...answers(401, 200)], ["auth.wrong-key"]],
    ["must not be reached from elsewhere", [...up, ...everywhere, ...answers(401, 401)], ["port"]],
  ])("%s", (_, lines, expected) => {
    expect(failed(lines)).toEqual(expected);
  });
});

describe("an agent that is merely stopped", () => {
  const stopped = [...installed, "unit.ActiveState=inactive", "unit.SubState=dead"];

  it.each<[string, string[], boolean]>([
    ["is down, and nothing else is wrong", stopped, true],
    ["is not one that failed", [...installed, "unit.ActiveState=failed"], false],
    ["is not one without a unit", [...stopped, "unit.LoadState=not-found"], false],
    ["is not one whose files are gone", [...stopped, "file.env="], false],
    ["is not one whose port another has", [...stopped, ...stranger], false],
    ["is not one that runs", [...up, ...loopback, ...answers(401, 401)], false],
  ])("%s", (_, lines, expected) => {
    expect(isMerelyStopped(look(lines))).toBe(expected);
  });
});
