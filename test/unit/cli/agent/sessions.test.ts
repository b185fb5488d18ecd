import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { messageFrom, messagesFrom, sessionFrom } from "../../../../src/agents/hermes/sessions/sessions.js";
import type { Row } from "../../../../src/agents/sessions/sessions.js";
import { conversation, markdown } from "../../../../src/cli/agent/sessions/text.js";
import { hitView } from "../../../../src/cli/agent/sessions/view.js";
import { parseTimeAsSeconds } from "../../../../src/cli/parse-time.js";
import { Secret } from "../../../../src/secret.js";
import type { Agent } from "../../../../src/state/agents.js";
import { beginningOf, snippetOf } from "../../../../src/text/snippet.js";
import { createRedactor } from "../../../../src/ui/redact.js";
import { sampleAgent } from "../../state/sample-agent.js";

const agent = { name: "ada", host: { name: "wolf" }, record: sampleAgent("ada") } as unknown as Agent;
const told = (session: Row, messages: Row[]) => ({
  agent,
  chat: sessionFrom(session),
  messages: messages.map(messageFrom),
  row: session,
  earlier: [],
});

interface Case {
  it: string;
  full?: boolean;
  hidden?: string;
  session: Row;
  messages: Row[];
  shows?: string;
  never?: string;
}

describe("a conversation for a person", () => {
  it.each(parse(readFileSync("test/cases/sessions/text.yaml", "utf8")) as Case[])("$it", (each) => {
    const redactor = createRedactor();
    if (each.hidden) redactor.hide(new Secret(each.hidden));
    const telling = { full: each.full ?? false, hidden: redactor.text };
    const shown = conversation(told(each.session, each.messages), telling);
    if (each.shows) expect(shown).toBe(each.shows);
    if (each.never) expect(shown).not.toContain(each.never);
  });
});

it("as Markdown, no fence in it ends the one around it", () => {
  const text = markdown(
    told({ id: "s", title: "A\n# B", started_at: 1767254400 }, [
      { role: "tool", tool_name: "cat", content: "```js\n````\n", timestamp: 1767254400 },
      { role: "assistant", content: null, tool_calls: [{ function: { name: "x", arguments: "{}" } }] },
    ]),
  );
  expect(text).toBe(`# A # B

- session: s
- agent: wolf:hermes:ada
- started: 2026-01-01T08:00:00.000Z

## tool cat (2026-01-01 08:00:00)

\`\`\`\`\`
\`\`\`js
\`\`\`\`
\`\`\`\`\`

## assistant

Called x:

\`\`\`
{}
\`\`\`

`);
});

describe("a snippet", () => {
  const long = `${"before ".repeat(30)}Needle ${"after ".repeat(40)}`;
  it.each<[string, string, string[], RegExp]>([
    ["of a short text is all of it", "a  needle\nhere", ["needle"], /^a needle here$/],
    ["of a long text has the word in it", long, ["needle"], /^…before .*Needle after.*…$/],
    ["begins at the beginning when the word is not there", long, ["nothing"], /^before before.*…$/],
    ["of nothing is nothing", "", ["x"], /^$/],
    ["does not halve a character", `${"🦊".repeat(100)}x`, ["x"], /^…?(🦊)*x?…?$/u],
  ])("%s", (_, text, terms, expected) => expect(snippetOf(text, terms)).toMatch(expected));

  it("hides before it cuts", () => {
    const redactor = createRedactor();
    redactor.hide(new Secret("sk-abcdefghijklmnop"));
    const message = messageFrom({ role: "user", content: `needle ${"x ".repeat(62)}sk-abcdefghijklmnop` });
    const hit = { session: "s", source: null, title: null, message };
    expect(JSON.stringify(hitView("needle", redactor.text, "").data?.(hit))).not.toContain("sk-a");
  });

  it("searches the tool calls when the text has no match", () => {
    const message = messageFrom({ role: "assistant", content: "", tool_calls: [{ name: "sh", arguments: "rm it" }] });
    const hit = { session: "s", source: null, title: null, message };
    expect(hitView("rm", String, "").data?.(hit)).toMatchObject({ snippet: "sh rm it" });
  });

  it("is a beginning of whole characters", () => expect(beginningOf("a🦊b", 2)).toBe("a…"));
});

describe("--since", () => {
  const now = new Date("2026-01-10T00:00:00Z");
  it.each([
    ["30m", "2026-01-09T23:30:00.000Z"],
    ["2d", "2026-01-08T00:00:00.000Z"],
    ["1w", "2026-01-03T00:00:00.000Z"],
    ["2026-01-01", "2026-01-01T00:00:00.000Z"],
    ["2026-01-01T05:00:00Z", "2026-01-01T05:00:00.000Z"],
  ])("%s", (text, expected) => {
    expect(new Date(parseTimeAsSeconds("--since", text, now) * 1000).toISOString()).toBe(expected);
  });
  it.each(["", "yesterday", "2", "-2d", "2026-13-01", "1.5h"])("not '%s'", (text) => {
    expect(() => parseTimeAsSeconds("--since", text, now)).toThrow(/is not a time/);
  });
});

it("a tool's answer without the tool's name has that of its call, as at 0.13", () => {
  const call = { id: "call_1", type: "function", function: { name: "terminal", arguments: "{}" } };
  const rows = [
    { role: "assistant", content: "", tool_calls: [call] },
    { role: "tool", content: "Linux", tool_call_id: "call_1", tool_name: null },
    { role: "tool", content: "?", tool_call_id: "call_2", tool_name: null },
    { role: "tool", content: "x", tool_call_id: "call_1", tool_name: "cat" },
  ];
  expect(messagesFrom(rows).map(({ tool }) => tool)).toEqual([null, "terminal", null, "cat"]);
});
