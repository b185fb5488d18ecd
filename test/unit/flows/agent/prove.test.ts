import { describe, expect, it } from "vitest";
import { minUptimeSeconds } from "../../../../src/agents/probe/proof/judge.js";
import type { Observation } from "../../../../src/agents/probe/proof/observation.js";
import type { Proof } from "../../../../src/agents/probe/proof/proof.js";
import { isOver } from "../../../../src/flows/agent/prove.js";

const observation = {
  unit: { ActiveState: "active", NRestarts: "0" },
  answers: { health: 0 },
  listeners: [],
} as unknown as Observation;
const fail = (id: Proof["id"], cause?: Proof["cause"]): Proof => ({
  id,
  result: "fail",
  reason: "",
  ...(cause && { cause }),
});
const silent = fail("port", "no-listener");
const young = fail("steady", "young");
const connecting = fail("channels", "connecting");

const limits = { timeout: 10_000, channels: 20_000 };
const settled = 10_000 + minUptimeSeconds * 2000;

describe("waiting for proofs is over", () => {
  it.each<[string, Partial<Parameters<typeof isOver>[0]>, boolean]>([
    ["not while it may still answer", { waited: 9_999 }, false],
    ["when the time is up", { waited: 10_001 }, true],
    ["not while only uptime is missing", { proofs: [young], waited: settled }, false],
    ["when uptime is missing for too long", { proofs: [young], waited: settled + 1 }, true],
    ["not while only channels are missing", { proofs: [connecting], waited: 60_000, connecting: 20_000 }, false],
    ["when channels are missing for too long", { proofs: [connecting], connecting: 20_001 }, true],
    ["when a channel is missing beside another failure", { proofs: [connecting, silent], waited: 10_001 }, true],
    ["when the model failed to answer", { proofs: [fail("chat")] }, true],
    ["not when its answer broke off", { proofs: [fail("chat")], brokeOff: true }, false],
    ["when a channel was refused", { proofs: [fail("channels", "refused")] }, true],
    ["when the unit failed", { observation: { ...observation, unit: { ActiveState: "failed" } } }, true],
    ["not at once when only other ports are open", { proofs: [fail("listeners")], waited: 8_000 }, false],
    ["soon when only other ports are open", { proofs: [fail("listeners")], waited: 8_001 }, true],
    [
      "soon when every request was answered",
      { observation: { ...observation, answers: { health: 200 } }, waited: 8_001 },
      true,
    ],
  ])("%s", (_, moment, over) => {
    const usual = { first: observation, observation, proofs: [silent], brokeOff: false, waited: 0, connecting: 0 };
    expect(isOver({ ...usual, ...moment }, limits)).toBe(over);
  });
});
