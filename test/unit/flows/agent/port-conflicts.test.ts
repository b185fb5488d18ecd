import { describe, expect, it } from "vitest";
import { loadType } from "../../../../src/agents/manifest/registry.js";
import { takenPorts } from "../../../../src/agents/plan/ports.js";
import { parseObservation } from "../../../../src/agents/probe/proof/observation.js";
import { Fault } from "../../../../src/errors.js";
import { mustHaveOwnPorts, portFor } from "../../../../src/flows/agent/port-conflicts.js";
import { agentNameFrom } from "../../../../src/names.js";
import type { AgentRecord } from "../../../../src/state/agent.js";
import type { Agent } from "../../../../src/state/agents.js";
import { sampleAgent } from "../../state/sample-agent.js";

const { manifest } = await loadType("/nonexistent", "hermes");

type Channels = NonNullable<AgentRecord["channels"]>;

const recordOf = (port: number, channels: Channels = {}, type = "hermes"): AgentRecord =>
  sampleAgent("ada", { type, port, channels, onboarding: { state: "ready", stages: {} } });

function agentBeside(others: Record<string, AgentRecord>, record = recordOf(8642)): Agent {
  const host = { name: "wolf", agents: { ada: record, ...others } } as never;
  return { name: agentNameFrom("ada"), ref: "ada", record, host };
}

/** As proof.sh prints them: `port/uid`. */
function observationWith(listening: string[]) {
  const observation = parseObservation(
    ["uid=1001", ...listening.map((each) => `port=${each}`), "end=yes", ""].join("\n"),
  );
  if (!observation) throw new Error("the lines do not go to the end");
  return observation;
}

const session = { argv: ["agent", "configure", "ada", "--channel", "webhook"] } as never;

interface Case {
  about: string;
  channels: Channels;
  before?: Channels;
  others?: Record<string, AgentRecord>;
  listening?: string[];
  /** The message, and the suggested port. */
  refused?: [why: string, next: string];
}

const ben = (channels: Channels, port = 8643, type?: string) => ({ ben: recordOf(port, channels, type) });

describe("the ports that channels listen on", () => {
  it.each<Case>([
    { about: "nobody else has it", channels: { webhook: {} }, others: ben({ line: {} }) },
    {
      about: "another agent has the same channel",
      channels: { webhook: {} },
      others: ben({ webhook: {} }),
      refused: ["ben has it on wolf", "--set webhook.port=8647"],
    },
    { about: "each has a number of its own", channels: { webhook: { port: "8650" } }, others: ben({ webhook: {} }) },
    {
      about: "another agent's API has it",
      channels: { webhook: { port: "8643" } },
      others: ben({}),
      refused: ["ben has it on wolf", "--set webhook.port=8647"],
    },
    {
      about: "another type's API has it, and its channels are not looked into",
      channels: { webhook: {} },
      others: ben({ webhook: {} }, 8644, "other"),
      refused: ["ben has it on wolf", "--set webhook.port=8647"],
    },
    {
      about: "its own API has it",
      channels: { webhook: { port: "8642" } },
      refused: ["its own API has it on wolf", "--set webhook.port=8643"],
    },
    {
      about: "another channel of its own has it",
      channels: { line: {}, webhook: { port: "8646" } },
      refused: ["its own line.port has it on wolf", "--set webhook.port=8647"],
    },
    {
      about: "somebody listens there",
      channels: { webhook: {} },
      listening: ["8644/0", "8647/33"],
      refused: ["a process of root listens on port 8644", "--set webhook.port=8648"],
    },
    { about: "the agent itself listens there", channels: { webhook: {} }, listening: ["8644/1001"] },
    { about: "it is not new", channels: { webhook: {} }, before: { webhook: {} }, listening: ["8644/0"] },
    { about: "it is a port it connects to", channels: { irc: { port: "8643" } }, others: ben({}) },
    { about: "the manifest has no such channel any more", channels: { pigeon: { port: "8643" } }, others: ben({}) },
  ])("$about", ({ channels, before, others = {}, listening = [], refused }) => {
    const agent = agentBeside(others, recordOf(8642, before));
    const check = () =>
      mustHaveOwnPorts(session, agent, {
        manifest,
        types: [manifest],
        record: recordOf(8642, channels),
        observation: observationWith(listening),
      });
    if (!refused) return check();
    try {
      check();
    } catch (error) {
      expect(error).toBeInstanceOf(Fault);
      const { fault, why, next } = error as Fault;
      expect([fault, why, next]).toEqual([
        "in-use",
        [refused[0]],
        [`clm agent configure ada --channel webhook ${refused[1]}`],
      ]);
      return;
    }
    throw new Error("was let through");
  });

  it("are not given to an API", () => {
    const agent = agentBeside(ben({ webhook: { port: "8647" } }));
    expect(takenPorts(agent.host, "ada", [manifest]).map(({ port }) => port)).toEqual([8643, 8647]);
    const asked = {
      manifest,
      types: [manifest],
      record: recordOf(8642, { webhook: { port: "8648" } }),
      observation: observationWith(["8642/0"]),
    };
    expect(portFor(session, agent, asked, "auto")).toBe(8649);
    expect(() => portFor(session, agent, asked, 8647)).toThrow("port 8647 belongs to an agent");
  });
});
