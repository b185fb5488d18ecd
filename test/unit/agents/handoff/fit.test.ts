import { readFileSync } from "node:fs";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import {
  type Fit,
  fits,
  piecesOf,
  roomIn,
  splitFor,
  summarised,
  summaryRoom,
  trimmed,
} from "../../../../src/agents/handoff/fit.js";
import { describe as described, fitTo } from "../../../../src/agents/handoff/plan.js";
import { isProof, newCode, newHandoffId, noteOf, planted, question } from "../../../../src/agents/handoff/proof.js";
import { paired, type TranscriptMessage, tokensIn, turnsOf } from "../../../../src/agents/handoff/transcript.js";
import { conversations } from "./conversations.js";

interface Case {
  it: string;
  messages: string[];
  context?: number;
  wish: Fit;
  expect: { fits: boolean; by: string; older: number; moves?: number; first?: string };
}

function saidFrom(word: string): TranscriptMessage {
  const [role = "", length = "0"] = word.split(" ");
  if (role === "picture")
    return { role: "user", content: [{ type: "image_url", image_url: { url: "x" } }], calls: [], at: 1 };
  return { role: role as TranscriptMessage["role"], content: "x".repeat(Number(length)), calls: [], at: 1 };
}

describe("a window", () => {
  it.each(parse(readFileSync("test/cases/handoff/fit.yaml", "utf8")) as Case[])("$it", (each) => {
    const messages = each.messages.map(saidFrom);
    const { fit, messages: moved } = fitTo(messages, each.context, each.wish);
    const { moves, first, ...expected } = each.expect;
    expect(fit).toMatchObject(expected);
    expect(moved?.length).toBe(moves);
    if (first !== undefined) expect(moved?.[0]?.content).toBe(first);
    if (moved && each.wish !== "summarise" && fit.room !== null) expect(tokensIn(moved)).toBeLessThanOrEqual(fit.room);
  });

  it("is filled with the last turns, and never over its brim", () => {
    fc.assert(
      fc.property(conversations, fc.integer({ min: 1, max: 400 }), (all, context) => {
        const messages = paired(all);
        const result = trimmed(messages, roomIn(context));
        const last = turnsOf(messages).at(-1) ?? [];
        if (!result) {
          expect(tokensIn(last)).toBeGreaterThan(roomIn(context) - 25);
          return;
        }
        expect(tokensIn(result.messages)).toBeLessThanOrEqual(roomIn(context));
        expect(result.messages.slice(-last.length || messages.length)).toEqual(last.length > 0 ? last : []);
        expect([...result.older, ...result.kept]).toEqual(messages);
        expect(paired(result.messages)).toEqual(result.messages);
      }),
    );
  });

  it("has room for a summary, whatever its length", () => {
    fc.assert(
      fc.property(
        conversations,
        fc.integer({ min: 200, max: 2000 }),
        fc.oneof(fc.string({ maxLength: 9000 }), fc.string({ maxLength: 3000, unit: "grapheme" })),
        (all, context, text) => {
          const room = roomIn(context);
          const split = splitFor(paired(all), room - summaryRoom(room));
          if (split) expect(tokensIn(summarised(split, text, room))).toBeLessThanOrEqual(room);
        },
      ),
    );
  });

  it("is filled with no two messages of the user's in a row that were not", () => {
    const messages = Array.from({ length: 20 }, (_, at) => saidFrom(at % 2 === 0 ? "user 40" : "assistant 40"));
    const rows = [
      trimmed(messages, 100)?.messages,
      summarised({ older: messages.slice(0, 4), kept: messages.slice(4) }, "x", 400),
    ];
    for (const row of rows) {
      expect(row?.length).toBeGreaterThan(2);
      expect(row?.map(({ role }) => role)).toEqual(row?.map((_, at) => (at % 2 === 0 ? "user" : "assistant")));
    }
  });

  it("is read piece by piece, and nothing is lost", () => {
    fc.assert(
      fc.property(conversations, fc.integer({ min: 5, max: 300 }), (messages, longest) => {
        const pieces = piecesOf(messages, longest);
        for (const piece of pieces) expect(Buffer.byteLength(piece)).toBeLessThanOrEqual(longest);
        const whole = piecesOf(messages, 1e9).join("\n");
        expect(pieces.join("").replaceAll("\n", "")).toBe(whole.replaceAll("\n", ""));
      }),
    );
  });

  it("is filled by what its model reads, and not by how many characters that is", () => {
    const messages: TranscriptMessage[] = [{ role: "user", content: "\u{6771}".repeat(400), calls: [], at: 1 }];
    expect(tokensIn(messages)).toBe(300);
    expect(piecesOf(messages, 606)).toHaveLength(2);
  });

  it("is read in whole characters", () => {
    const messages: TranscriptMessage[] = [{ role: "user", content: "\u{1f600}".repeat(50), calls: [], at: 1 }];
    for (const longest of [6, 7, 9, 20]) {
      const pieces = piecesOf(messages, longest);
      expect(pieces.filter((piece) => /\p{Surrogate}/u.test(piece))).toEqual([]);
      expect(pieces.join("").replaceAll("\n", "")).toBe(`user: ${"\u{1f600}".repeat(50)}`);
    }
  });

  it("is refused, trimmed or summarised", () => expect(fits).toEqual(["refuse", "trim", "summarise"]));
});

describe("the preview", () => {
  it("has the numbers", () => {
    const messages: TranscriptMessage[] = [
      { ...saidFrom("user 5"), at: 1767254400 },
      {
        role: "assistant",
        content: "",
        at: 1767254401,
        calls: [
          { id: "a", name: "read", arguments: "{}" },
          { id: "b", name: "__proto__", arguments: "{}" },
        ],
      },
      { role: "tool", content: "x", calls: [], answers: { id: "a", tool: "read" }, at: 1767254402 },
      saidFrom("picture"),
    ];
    expect(described(messages)).toMatchObject({
      messages: { user: 2, assistant: 1, tool: 1, all: 4 },
      tokens: 2 + 5 + 1 + 765,
      attachments: 1,
      since: "2026-01-01T08:00:00.000Z",
      until: "1970-01-01T00:00:01.000Z",
    });
    expect(Object.entries(described(messages).tools)).toEqual([
      ["read", 1],
      ["__proto__", 1],
    ]);
  });
});

describe("the proof", () => {
  it("is a code that stands in the note alone", () => {
    const code = newCode();
    const [note, noted] = planted(noteOf("wolf-i:hermes:ada", code), [saidFrom("assistant 1")], 7);
    expect(note).toMatchObject({ role: "user", at: 7 });
    expect(note?.content).toContain(`the handoff code is ${code} `);
    expect(noted).toMatchObject({ role: "assistant", at: 7 });
    expect(`${noted?.content}${question}`).not.toContain(code);
    expect(question).toContain("What is the handoff code");
    expect([isProof(`It is ${code.toUpperCase()}.`, code), isProof("I do not know", code)]).toEqual([true, false]);
    expect([newCode() === code, newHandoffId()]).toEqual([false, expect.stringMatching(/^handoff-[0-9a-f]{12}$/)]);
  });
});
