import { expect, it } from "vitest";
import { loadType } from "../../../../../src/agents/manifest/registry.js";
import { resolvedAgent } from "../../../../../src/agents/plan/resolved-agent.js";
import { parseObservation } from "../../../../../src/agents/probe/proof/observation.js";
import { portOwnerFault, portOwnerScript } from "../../../../../src/agents/probe/proof/port-owner.js";
import { agentNameFrom } from "../../../../../src/names.js";
import { sampleAgent } from "../../../state/sample-agent.js";

const { manifest } = await loadType("/nonexistent", "hermes");
const agent = resolvedAgent(manifest, {
  name: agentNameFrom("ada"),
  ref: "wolf-i/ada",
  host: { name: "wolf-i" } as never,
  record: sampleAgent("ada", { version: "2026.7.1" }),
});

const up = ["uid=1001", "unit.LoadState=loaded", "unit.ActiveState=active", "unit.SubState=running"];
const stopped = ["uid=1001", "unit.LoadState=loaded", "unit.ActiveState=inactive", "unit.SubState=dead"];
const own = ["listen=0100007F/7", "holder=yes 700 ada hermes"];
const stranger = ["listen=0100007F/8", "holder=no 811 maurice nc"];

const doctor = "clm agent doctor wolf-i/ada";

it.each<[string, string[], [fault: string, why: RegExp, next: string] | undefined]>([
  ["its own process, on the loopback", [...up, ...own], undefined],
  ["a stranger", [...up, ...stranger], ["check-failed", /pid 811, user maurice, nc/, doctor]],
  ["a stranger beside its own", [...up, ...own, ...stranger], ["check-failed", /another process/, doctor]],
  ["a stranger in the place of one that is stopped", [...stopped, ...stranger], ["check-failed", /maurice/, doctor]],
  [
    "its own, on every address",
    [...up, "listen=00000000/7", "holder=yes 700 ada hermes"],
    ["check-failed", /0\.0\.0\.0/, doctor],
  ],
  [
    "a process that root cannot see",
    [...up, "listen=0100007F/7", "holder=no 0 ? "],
    ["check-failed", /unknown pid/, doctor],
  ],
  [
    "its own, and somebody has a connection that was made to it",
    [...up, ...own, "stranger=811 maurice nc"],
    ["check-failed", /connection of port.*pid 811, user maurice, nc/, doctor],
  ],
  ["nobody, it is stopped", stopped, ["not-ready", /hermes-ada/, "clm agent start wolf-i/ada"]],
  ["nobody, it is up", up, ["not-ready", /nothing listens on port/, doctor]],
  ["nobody, its account is gone", ["uid=", "unit.LoadState=not-found"], ["not-ready", /no unit/, doctor]],
])("the port is held by %s", (_about, lines, told) => {
  const seen = parseObservation([...lines, "end=yes", ""].join("\n"));
  const fault = seen && portOwnerFault(agent, seen);
  if (!told) return expect(fault).toBeUndefined();
  expect([fault?.fault, fault?.why.join("; "), fault?.next]).toEqual([
    told[0],
    expect.stringMatching(told[1]),
    [told[2]],
  ]);
});

it("asks for no key", () => {
  const calls = portOwnerScript(agent).split("\nuser=")[1];
  expect(calls).toMatch(/probe_port/);
  expect(calls).not.toMatch(/key|probe_api/);
});
