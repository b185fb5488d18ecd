import { expect, it, vi } from "vitest";
import { desiredState } from "../../src/agents/plan/desired-state.js";
import { planFor } from "../../src/agents/plan/plan.js";
import { askHost, askHostPartially } from "../../src/remote/ask-host.js";
import { converge } from "../../src/remote/operations/converge.js";
import { clm } from "../unit/cli/world.js";
import { labFixture, withEcho } from "./fixture.js";

// How often a command computes the desired state and asks the host. clm runs inside the test, so that calls can be counted.
// A higher number is work done twice. Lower a number here when the code needs less; never raise one.

vi.mock(import("../../src/agents/plan/desired-state.js"), { spy: true });
vi.mock(import("../../src/agents/plan/plan.js"), { spy: true });
vi.mock(import("../../src/remote/ask-host.js"), { spy: true });
vi.mock(import("../../src/remote/operations/converge.js"), { spy: true });

const host = "trial-1";
const { home } = labFixture({ agents: [{ host, name: "ada", configure: withEcho }] });

interface Counts {
  desired: number;
  planned: number;
  /** Scripts that only read, before the first one that changes something. Proofs afterwards repeat until they hold. */
  probed: number;
  /** Scripts that change what differs, or only compare. */
  converged: number;
}

const probes = [askHost, askHostPartially];

async function countsOf(...words: string[]): Promise<Counts> {
  vi.clearAllMocks();
  const { code, stderr } = await clm(words, { env: { ...process.env, CLM_HOME: home }, now: () => new Date() });
  expect(code, stderr).toBe(0);
  const [firstChange = Number.POSITIVE_INFINITY] = vi.mocked(converge).mock.invocationCallOrder;
  const order = probes.flatMap((probe) => vi.mocked(probe).mock.invocationCallOrder);
  return {
    desired: vi.mocked(desiredState).mock.calls.length,
    planned: vi.mocked(planFor).mock.calls.length,
    probed: order.filter((at) => at < firstChange).length,
    converged: vi.mocked(converge).mock.calls.length,
  };
}

const once: Counts = { desired: 1, planned: 1, probed: 1, converged: 1 };

it.each<[string, string[], Counts]>([
  ["configure without changes", ["agent", "configure", "ada"], once],
  ["diff", ["agent", "diff", "ada"], once],
  ["sync without drift", ["agent", "sync", "ada"], once],
  ["ps", ["ps", "ada"], once],
])("%s computes and asks once", async (_, words, counts) => {
  expect(await countsOf(...words)).toEqual(counts);
});
