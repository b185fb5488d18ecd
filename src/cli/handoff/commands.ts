import { choice, command, flag, list, type Noun, number, optional, text } from "../command.js";
import { sudo } from "../recurring.js";

export const handoff = command({
  path: "handoff",
  summary: "hand a conversation over to another agent",
  description: `Copies a session of the agent SRC to the agent DST, on the same or another host and whatever model and version they run: what people and
the model said, the tools it called and what these answered. System prompts and what the model thought never travel.

Both ends are looked at before anything changes: DST must be validated, run, take its key and have room for the conversation in the
window of its model (manifests/models.yaml, models.yaml in the config directory, or --context). What would move is shown, and
--dry-run ends there. The session is written to DST in one transaction and with the agent's own rights; then DST is asked for a code
that stands only in the transcript. If it cannot tell it, the session is taken away again. In the end DST has exactly what moved,
compared message by message, and the audit log has both ends and a hash of it. Cut short anywhere, the same command again finishes
or cleans up; --list shows what is open, --abandon takes it away.

SRC stays as it was; --close ends the session there. With --to-channel the session moves to one of SRC's own channels instead, by the
agent's own means (Hermes 0.14 and later).`,
  args: {
    src: optional("the agent that has the conversation: NAME or HOST/NAME", "agent"),
    dst: optional("the agent that takes it over: NAME or HOST/NAME", "agent"),
  },
  options: {
    session: text("ID", "the session, or how its id begins (default: the one used last)"),
    fit: choice(
      "HOW",
      ["refuse", "trim", "summarise"],
      "when it is too large: refuse, leave out the oldest turns, or have them summarised",
    ),
    context: number("TOKENS", "what the window of the target's model holds", { min: 1, max: 1_000_000_000 }),
    noTools: flag("without tool calls and what tools answered"),
    redact: flag("without secrets: those clm keeps, and what is written as one"),
    onlyLast: number("N", "only the last N turns", { min: 1 }),
    denyTool: list(
      "PATTERN",
      "without what these tools were given and answered, and whole lines (12 characters or more) and words with digits (8 or more) of their answers that are quoted elsewhere (repeatable, commas)",
    ),
    close: flag("end the session on the source, when all is proven"),
    as: text("KEY", "in the name of this gateway key, which must be allowed to talk with both"),
    toChannel: text("CHANNEL", "to this channel of the agent's own instead of another agent", { completes: "channel" }),
    reset: flag("with --to-channel: give up a request that the agent left in the middle"),
    wait: number("SECONDS", "with --to-channel: wait so long for the agent (default 90)", { min: 1, max: 3600 }),
    list: flag("show handoffs that were cut short"),
    abandon: text("ID", "take away what is left of one that was cut short"),
    ...sudo,
  },
  formats: ["table", "json", "yaml"],
  mutates: true,
  examples: [
    { run: "clm handoff hermes-test wolf-ii/helper --dry-run", note: "what would move" },
    { run: "clm handoff hermes-test helper --session api-0f3a --redact --deny-tool 'terminal,mcp_*' --yes" },
    { run: "clm handoff hermes-test helper --only-last 10 --fit summarise" },
    { run: "clm handoff hermes-test --to-channel discord" },
    { run: "clm handoff --list" },
  ],
  load: () => import("./handoff.js"),
});

export const handoffNoun: Noun = { name: "handoff", summary: handoff.summary, commands: [handoff] };
