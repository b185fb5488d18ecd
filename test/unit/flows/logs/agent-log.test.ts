import { expect, it } from "vitest";
import type { ResolvedAgent } from "../../../../src/agents/plan/resolved-agent.js";
import { AgentLog } from "../../../../src/flows/logs/agent-log.js";
import type { Agent } from "../../../../src/state/agents.js";

const target = {
  agent: { name: "ada", host: { name: "wolf" } } as Agent,
  resolved: { manifest: { logs: {} } } as ResolvedAgent,
};

function heard(room: number, count: number) {
  let tooMuch = 0;
  const voice = new AgentLog({
    target,
    filter: { level: "debug" },
    maxLength: 1000,
    clean: (text: string) => text,
    maxPast: room,
    onOverflow: () => {
      tooMuch++;
    },
  });
  voice.begin((local) => local, Date.now);
  const take = (source: string, line: string) => voice.take({ agent: 0, source, line, cut: false });
  take("errors", "2026-11-16 09:00:00,000 ERROR a: rare");
  for (let at = 0; at < count; at++) {
    take("agent", `2026-11-16 10:00:00,${String(at).padStart(3, "0")} INFO a: line ${at}`);
  }
  voice.endPast();
  return { texts: voice.past().map(({ text }) => text), tooMuch };
}

it("keeps all that was said before when there is room", () => {
  const { texts, tooMuch } = heard(1_000_000, 200);
  expect([texts.length, tooMuch]).toEqual([201, 0]);
});

it("leaves out the earliest of what takes the most room, and says so once", () => {
  const { texts, tooMuch } = heard(10_000, 900);
  expect(tooMuch).toBe(1);
  expect(texts.length).toBeLessThan(60);
  expect([texts[0], texts.at(-1)]).toEqual(["a: rare", "a: line 899"]);
});
