import { describe, expect, it } from "vitest";
import { abandon, closeSource } from "../../../../src/flows/handoff/open.js";
import { type Handoff, openHandoffs } from "../../../../src/state/handoffs.js";
import { scratchDirectories } from "../../state/scratch.js";
import { inSession } from "../in-session.js";

const freshDirectory = scratchDirectories();
const handoff: Handoff = {
  id: "handoff-0123456789ab",
  from: { host: "wolf-i", agent: "ada", session: "tea" },
  to: { host: "wolf-ii", agent: "ben" },
  asked: "d1",
  planted: "note",
  stage: "proven",
  at: "2026-01-01T00:00:00Z",
  moved: { hash: "h", messages: 2, calls: 0 },
  close: { last: 7 },
};

describe("an agent that was removed meanwhile", () => {
  it("has no session to close, and keeps no handoff from its end", async () => {
    const { result, said } = await inSession({ configDir: freshDirectory() }, (session) =>
      closeSource(session, handoff.from, 7),
    );
    expect(result).toBe(false);
    expect(said()).toContain("wolf-i/ada no longer exists, and tea was not closed");
  });

  it("removes what was left of a handoff to it", async () => {
    const configDir = freshDirectory();
    await openHandoffs(configDir).put(handoff);
    await inSession({ configDir }, (session) => abandon(session, handoff.id));
    expect(openHandoffs(configDir).all()).toEqual([]);
  });
});
