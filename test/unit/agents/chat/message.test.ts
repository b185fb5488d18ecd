import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import {
  type Attachment,
  chatBody,
  messageWith,
  mustBeSessionId,
  mustFit,
  newSessionId,
} from "../../../../src/agents/chat/message.js";

interface Case {
  about: string;
  text: string;
  files?: Attachment[];
  message: string;
}

const cases: Case[] = parse(readFileSync("test/cases/chat/message.yaml", "utf8"));

it.each(cases.map((each) => [each.about, each] as const))("%s", (_about, { text, files = [], message }) => {
  expect(messageWith(text, files)).toBe(message);
});

describe("how long a message may be", () => {
  it.each([
    ["as long as is read", "a".repeat(8), undefined],
    ["one character more", "a".repeat(9), /9 characters/],
    ["as many characters as are read, of two units each", "😀".repeat(8), undefined],
    ["nothing but blanks", " \n", /empty/],
  ])("%s", (_about, text, refused) => {
    if (refused) expect(() => mustFit(text, 8)).toThrow(refused);
    else expect(() => mustFit(text, 8)).not.toThrow();
  });
});

describe("the id of a session", () => {
  it.each(["clm-20260101-0a1b2c3d", "api-0123", "20260507_121212_ab", "telegram:12@x"])("%s", (id) => {
    expect(() => mustBeSessionId(id)).not.toThrow();
  });
  it.each(["", "a b", "a/b", "a\\b", "..", "a\nb", "a\r\nX-Evil: 1", "é", "a".repeat(257)])("not %j", (id) => {
    expect(() => mustBeSessionId(id)).toThrow();
  });
  it("of ours is valid, and has its start time", () => {
    const id = newSessionId(new Date("2026-01-02T03:04:05Z"));
    expect(id).toMatch(/^clm-20260102-[0-9a-f]{8}$/);
    expect(() => mustBeSessionId(id)).not.toThrow();
  });
});

it("only the new message is sent: the agent has the rest", () => {
  expect(chatBody("m", "hello", undefined, true)).toEqual({
    model: "m",
    stream: true,
    messages: [{ role: "user", content: "hello" }],
  });
  expect(chatBody("m", "hello", "be brief", true).messages[0]).toEqual({ role: "system", content: "be brief" });
});
