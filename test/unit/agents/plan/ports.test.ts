import { describe, expect, it } from "vitest";
import { loadManifests } from "../../../../src/agents/manifest/registry.js";
import { takenPorts } from "../../../../src/agents/plan/ports.js";
import type { AgentRecord } from "../../../../src/state/agent.js";
import { sampleProgram } from "../../agents/program/program-agent.js";
import { sampleAgent } from "../../state/sample-agent.js";

const types = await loadManifests("/nonexistent");
const ada = sampleAgent("ada", { port: 8642, channels: { webhook: {} } });
const bot = sampleProgram();

describe("ports that a host's other agents have", () => {
  it.each<[string, Record<string, AgentRecord>, string, [string, number][]]>([
    ["alone", { bot }, "bot", []],
    ["beside a program", { ada, bot }, "ada", [["bot", 8700]]],
    [
      "beside an agent with a channel that listens",
      { ada, bot },
      "bot",
      [
        ["ada", 8642],
        ["ada", 8644],
      ],
    ],
    [
      "beside a program that has the name of a channel among its answers",
      { ada, bot: { ...bot, channels: { webhook: {} } } },
      "ada",
      [["bot", 8700]],
    ],
    ["beside one of a type that nobody knows any more", { ada, bot: { ...bot, type: "gone" } }, "ada", [["bot", 8700]]],
  ])("%s", (_about, agents, name, expected) => {
    const taken = takenPorts({ agents } as never, name, types);
    expect(taken.map(({ agent, port }) => [agent, port])).toEqual(expected);
  });
});
