import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import type { HandoffPlan } from "../../../src/agents/handoff/plan.js";
import { handoffResult, planText } from "../../../src/cli/handoff/handoff.js";
import { patternsIn } from "../../../src/flows/handoff/prepare.js";
import { openHandoffs } from "../../../src/state/handoffs.js";
import { clm } from "./world.js";

const dir = mkdtempSync(join(tmpdir(), "clm-handoff-"));
afterAll(() => rmSync(dir, { recursive: true, force: true }));
const handoff = (...words: string[]) => clm(["handoff", "--config-dir", dir, ...words]);

describe("clm handoff", () => {
  it.each<[string[], number, string]>([
    [[], 2, "name the agent that has the conversation and the agent that takes it over"],
    [["ada"], 2, "name the agent that takes over the conversation"],
    [["ada", "ben", "--to-channel", "discord"], 2, "--to-channel goes with one agent"],
    [["ada", "--to-channel", "discord", "--redact"], 2, "moves a session as it is"],
    [["ada", "--to-channel", "discord", "--deny-tool", "x"], 2, "moves a session as it is"],
    [["ada", "ben", "--reset"], 2, "go with --to-channel"],
    [["ada", "--list"], 2, "--list goes with no agent"],
    [["--list", "--abandon", "x"], 2, "exclude each other"],
    [["--list", "--redact"], 2, "--list goes with no other option"],
    [["--list", "--session", "x"], 2, "--list goes with no other option"],
    [["--list", "--wait", "9"], 2, "--list goes with no other option"],
    [["--list", "--sudo-password-file", "x"], 2, "--list goes with no other option"],
    [["--abandon", "x", "--deny-tool", "y"], 2, "--abandon goes with no other option"],
    [["--abandon", "x", "--to-channel", "discord"], 2, "--abandon goes with no other option"],
    [["--abandon", "x", "--reset"], 2, "--abandon goes with no other option"],
    [["--abandon", "x", "--fit", "trim"], 2, "--abandon goes with no other option"],
    [["--abandon", "handoff-x"], 4, "no open handoff"],
    [["ada", "ben", "--fit", "squeeze"], 2, "--fit is one of refuse, trim, summarise"],
    [["ada", "ben", "--only-last", "0"], 2, "--only-last"],
    [["ada", "ben"], 4, "no agent is called 'ada'"],
  ])("refuses %j before anything is asked", async (words, code, why) => {
    const result = await handoff(...words);
    expect([result.code, result.stderr]).toEqual([code, expect.stringContaining(why)]);
  });

  it("lists open handoffs", async () => {
    expect((await handoff("--list")).stderr).toContain("No handoff is open.");
    await openHandoffs(dir).put({
      ...{
        id: "handoff-0123456789ab",
        asked: "0a",
        planted: "a note",
        stage: "seeded",
        at: "2026-01-02T03:04:05.000Z",
      },
      from: { host: "wolf-i", agent: "ada", session: "api-1" },
      to: { host: "wolf-ii", agent: "ben" },
    });
    const { stdout } = await handoff("--list");
    expect(stdout).toMatch(/handoff-0123456789ab +wolf-i\/ada +api-1 +wolf-ii\/ben +seeded/);
    expect(JSON.parse((await handoff("--list", "-o", "json")).stdout)).toMatchObject([{ stage: "seeded" }]);
    // The agent is gone, and with it all that was its own.
    const gone = await handoff("--abandon", "handoff-0123456789ab", "--yes");
    expect([gone.code, gone.stdout]).toEqual([0, "nothing of handoff-0123456789ab is left on wolf-ii/ben\n"]);
    expect(openHandoffs(dir).all()).toEqual([]);
  });
});

describe("output for people", () => {
  const plan: HandoffPlan = {
    from: { agent: "wolf-i:hermes:ada", session: "api-1" },
    to: { agent: "wolf-ii:hermes:ben", model: "echo-1" },
    title: "Tea",
    tools: { terminal: 2, web: 1 },
    tokens: 315,
    attachments: 1,
    messages: { user: 3, assistant: 4, tool: 3, all: 10 },
    since: "2026-01-01T08:00:00.000Z",
    until: "2026-01-01T09:00:00.500Z",
    taken: { messages: 2, outputs: 1, changed: 3 },
    fit: { context: 400, room: 300, fits: false, by: "trim", older: 4 },
  };

  it("before", () => {
    expect(planText(plan).split("\n")).toEqual([
      "From:        wolf-i:hermes:ada, session api-1",
      "To:          wolf-ii:hermes:ben (echo-1)",
      "Title:       Tea",
      "Messages:    10: 3 of the user, 4 of the assistant, 3 of tools",
      "Tool calls:  terminal 2, web 1",
      "Attachments: 1 picture",
      "Tokens:      about 315",
      "Time:        2026-01-01 08:00:00 to 2026-01-01 09:00:00",
      "Left out:    4 earlier messages, 2 messages, 1 output of denied tools, parts of 3 others",
      "Window:      300 of 400 tokens are for a transcript: 4 earlier messages are left out",
    ]);
  });

  it.each<[Partial<HandoffPlan["fit"]>, string]>([
    [{ context: null, room: null, fits: true, by: "nothing", older: 0 }, "unknown"],
    [{ fits: true, by: "nothing", older: 0 }, "300 of 400 tokens are for a transcript: it fits"],
    [{ by: "refuse", older: 0 }, "300 of 400 tokens are for a transcript: it does not fit"],
    [{ by: "summarise" }, "300 of 400 tokens are for a transcript: 4 earlier messages are summarised"],
  ])("of the window %j", (fit, text) => {
    expect(planText({ ...plan, fit: { ...plan.fit, ...fit } })).toContain(`Window:      ${text}`);
  });

  it("after", () => {
    const done = {
      id: "handoff-1",
      messages: 10,
      hash: "0a",
      closed: true,
      from: { agent: "wolf-i/ada", session: "api-1" },
      to: { agent: "wolf-ii/ben", session: "handoff-1" },
    };
    expect(handoffResult(done)).toContain("clm chat wolf-ii/ben --session handoff-1");
    expect(handoffResult(done)).toContain("api-1 of wolf-i/ada is closed");
  });

  it("reads patterns with commas", () => expect(patternsIn(["a, b*", ",", "c"])).toEqual(["a", "b*", "c"]));
});
