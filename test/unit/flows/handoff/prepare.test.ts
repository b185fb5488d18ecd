import { beforeAll, describe, expect, it } from "vitest";
import type { TranscriptMessage } from "../../../../src/agents/handoff/transcript.js";
import * as handoff from "../../../../src/agents/hermes/handoff/handoff.js";
import { loadType } from "../../../../src/agents/manifest/registry.js";
import { resolvedAgent } from "../../../../src/agents/plan/resolved-agent.js";
import { type HandoffOptions, mustMove, patternsIn, prepare } from "../../../../src/flows/handoff/prepare.js";
import type { SourceConversation } from "../../../../src/flows/handoff/source.js";
import type { HandoffTarget } from "../../../../src/flows/handoff/target.js";
import type { Agent } from "../../../../src/state/agents.js";
import { sampleAgent } from "../../state/sample-agent.js";
import { faultOf, scratchDirectories } from "../../state/scratch.js";

const freshDirectory = scratchDirectories();
const ada = { name: "ada", ref: "wolf-i/ada", host: { name: "wolf-i" }, record: sampleAgent("ada") } as Agent;
let target: HandoffTarget;
beforeAll(async () => {
  const { manifest } = await loadType(freshDirectory(), "hermes");
  target = { agent: ada, resolved: resolvedAgent(manifest, ada), store: handoff, model: "m-1", context: undefined };
});

const turns = (count: number): TranscriptMessage[] =>
  Array.from({ length: count }, (_, at) => [
    { role: "user" as const, content: "x".repeat(100), calls: [], at },
    { role: "assistant" as const, content: "y".repeat(100), calls: [], at },
  ]).flat();

/** The plan for this many turns and a window, before anything is changed. */
function preparing(count: number, context: number | undefined, options: Partial<HandoffOptions>) {
  const wishes: HandoffOptions = { noTools: false, redact: false, denyTool: [], close: false, ...options };
  const source = {
    agent: ada,
    chat: { id: "tea", title: null },
    messages: turns(count),
    earlier: [],
    last: 1,
  } as unknown as SourceConversation;
  const session = { ui: { redact: (text: string) => text, warn() {} } as never, argv: ["handoff", "ada", "ben"] };
  const what = prepare(session, source, { ...target, context }, wishes);
  mustMove(session, what, source, { ...target, context }, wishes);
  return what;
}

describe("before anything is changed", () => {
  it("it is known whether the target can summarise what does not fit", async () => {
    expect(preparing(20, 800, { fit: "summarise" }).summarise?.older.length).toBeGreaterThan(0);
    expect(await faultOf(() => preparing(1000, 800, { fit: "summarise" }))).toMatchObject({
      fault: "bad-input",
      message: expect.stringMatching(/would have to read \d+ times/),
    });
    expect(await faultOf(() => preparing(5, 100, { fit: "summarise" }))).toMatchObject({ fault: "bad-input" });
  });

  it("a conversation of which nothing is left is shown where it is", async () => {
    expect(await faultOf(() => preparing(0, undefined, {}))).toMatchObject({
      message: "nothing of this conversation would be handed over",
      next: ["clm agent sessions show wolf-i/ada tea"],
    });
  });

  it("a boundary that names no tool is refused", async () => {
    for (const words of [[","], [" , ", ","]]) {
      expect(await faultOf(() => patternsIn(words))).toMatchObject({ fault: "bad-input" });
    }
    expect(patternsIn([])).toEqual([]);
  });
});
