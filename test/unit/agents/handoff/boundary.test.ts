import { readFileSync } from "node:fs";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { applyBoundary } from "../../../../src/agents/handoff/boundary.js";
import { redacting } from "../../../../src/agents/handoff/redact.js";
import { textsIn } from "../../../../src/agents/handoff/texts.js";
import { canonical, paired, type TranscriptMessage, turnsOf } from "../../../../src/agents/handoff/transcript.js";
import { inPlaceOf, linesOf } from "../../../../src/agents/handoff/withhold-outputs.js";
import { transcriptFrom } from "../../../../src/agents/hermes/handoff/handoff.js";
import type { Row } from "../../../../src/agents/sessions/sessions.js";
import { Secret } from "../../../../src/secret.js";
import { createRedactor } from "../../../../src/ui/redact.js";
import { conversations, deniable } from "./conversations.js";

interface Case {
  it: string;
  rows: Row[];
  earlier?: Row[];
  title?: string;
  hidden?: string[];
  with?: { noTools?: boolean; redact?: boolean; onlyLast?: number; deny?: string[] };
  moves: string[];
  titled?: string;
}

const lineOf = ({ role, content, calls, answers }: TranscriptMessage): string => {
  const text = typeof content === "string" ? content : JSON.stringify(content);
  const called = calls.map(({ id, name, arguments: given }) => ` > ${name}#${id} ${given}`).join("");
  return `${answers ? `${answers.tool}#${answers.id}` : role}: ${text}${called}`;
};

describe("withheld content", () => {
  it.each(parse(readFileSync("test/cases/handoff/boundary.yaml", "utf8")) as Case[])("$it", (each) => {
    const { redact = false, noTools = false, deny = [], onlyLast } = each.with ?? {};
    const redactor = createRedactor();
    for (const secret of each.hidden ?? []) redactor.hide(new Secret(secret));
    const boundary = { noTools, deny, onlyLast, ...(redact && { redact: redacting(redactor.text) }) };
    const earlier = transcriptFrom(each.earlier ?? []);
    const given = { messages: transcriptFrom(each.rows), earlier, title: each.title ?? "" };
    const { messages, title } = applyBoundary(boundary, given);
    expect(messages.map(lineOf)).toEqual(each.moves);
    expect(title).toBe(each.titled ?? each.title ?? "");
    // Applied twice, it gives the same.
    expect(canonical(applyBoundary(boundary, { messages, title }).messages)).toBe(canonical(messages));
  });

  it("knows many lines that begin alike, in a long conversation", () => {
    const lines = Array.from({ length: 20_000 }, (_, at) => `line number ${at} of the output`);
    const messages: TranscriptMessage[] = [
      { role: "user", content: `go ${"line number ".repeat(20_000)}`, calls: [], at: 1 },
      { role: "assistant", content: lines.join("\n"), calls: [{ id: "a", name: "read", arguments: "{}" }], at: 2 },
      { role: "tool", content: lines.join("\n"), calls: [], answers: { id: "a", tool: "read" }, at: 3 },
    ];
    const { messages: moved } = applyBoundary({ noTools: false, deny: ["read"] }, { messages, title: "" });
    expect(moved[0]).toEqual(messages[0]);
    expect(new Set(String(moved[1]?.content).split("\n"))).toEqual(new Set([inPlaceOf("read")]));
  });

  it("reports what it removed", () => {
    const rows: Row[] = [
      { role: "user", content: "go" },
      { role: "assistant", tool_calls: [{ id: "a", function: { name: "read", arguments: "{}" } }] },
      { role: "tool", tool_call_id: "a", content: "a line that is long" },
      { role: "assistant", content: "it says: a line that is long" },
    ];
    const { taken } = applyBoundary({ noTools: false, deny: ["read"] }, { messages: transcriptFrom(rows), title: "" });
    expect(taken).toEqual({ messages: 0, outputs: 1, changed: 1 });
    const none = applyBoundary({ noTools: true, deny: [] }, { messages: transcriptFrom(rows), title: "" });
    expect(none.taken).toEqual({ messages: 2, outputs: 0, changed: 0 });
  });
});

const boundaries = fc.record({
  noTools: fc.boolean(),
  onlyLast: fc.option(fc.integer({ min: 1, max: 4 }), { nil: undefined }),
  deny: fc.constantFrom([], ["read"], ["*"], ["re*", "web"]),
  redact: fc.constantFrom(
    undefined,
    redacting((text) => text.replaceAll("hunter2", "[secret]")),
  ),
});

describe("any conversation", () => {
  it("no answer is without its call, and no call without its answer", () => {
    fc.assert(
      fc.property(conversations, boundaries, (messages, boundary) => {
        const moved = applyBoundary(boundary, { messages, title: "" }).messages;
        expect(canonical(paired(moved))).toBe(canonical(moved));
        for (const [at, message] of moved.entries()) {
          if (message.role !== "tool") continue;
          const caller = moved.slice(0, at).findLast(({ role }) => role !== "tool");
          expect(caller?.calls.map(({ id }) => id)).toContain(message.answers?.id);
        }
      }),
    );
  });

  it("done twice is done once", () => {
    fc.assert(
      fc.property(conversations, boundaries, (messages, boundary) => {
        const once = applyBoundary(boundary, { messages, title: "t" });
        expect(canonical(applyBoundary(boundary, once).messages)).toBe(canonical(once.messages));
      }),
    );
  });

  it("fewer turns are never more", () => {
    fc.assert(
      fc.property(conversations, boundaries, fc.integer({ min: 1, max: 4 }), (messages, boundary, onlyLast) => {
        const all = applyBoundary({ ...boundary, onlyLast: undefined }, { messages, title: "" }).messages;
        const some = applyBoundary({ ...boundary, onlyLast }, { messages, title: "" }).messages;
        expect(turnsOf(some).length).toBeLessThanOrEqual(onlyLast);
        expect(canonical(all).endsWith(canonical(some).slice(1))).toBe(true);
      }),
    );
  });

  it("no line of a denied output is anywhere", () => {
    fc.assert(
      fc.property(conversations, boundaries, (messages, boundary) => {
        const deny = ["read"];
        const { messages: moved } = applyBoundary({ ...boundary, deny, redact: undefined }, { messages, title: "" });
        // Not as JSON: written as one text, a line break and the next word may be a word of the denied output.
        const text = moved
          .flatMap(({ content, calls }) => [...textsIn(content), ...calls.map((call) => call.arguments)])
          .join("\n");
        for (const line of deniable(messages, "read").flatMap(linesOf)) {
          if (!inPlaceOf("read").includes(line)) expect(text).not.toContain(line);
        }
      }),
      { numRuns: 500 },
    );
  });
});
