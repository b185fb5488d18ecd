import { choice, command, flag, list, number, optional, text } from "../command.js";
import { changesOne, sudoOption } from "../shared-options.js";

export const handoff = command({
  path: "handoff",
  summary: "move a conversation to another agent",
  description: `Copies a session of the agent SRC to the agent DST, on the same or another host and with any model and
version: the messages of people and of the model, tool calls and their results. System prompts and reasoning are never
copied.

Both agents are checked before anything changes: DST must be validated, running and accept its key, and the
conversation must fit into the context window of its model (manifests/models.yaml, models.yaml in the config
directory, or --context). clm shows what would be copied; --dry-run stops there. The session is written to DST in one
transaction with the agent's own permissions; then DST must answer with a code that only the transcript contains. If
it cannot, the session is removed again. Finally every message in DST is compared with the copy, and the audit log
records both agents and a hash. If the command is interrupted, run it again: it finishes or cleans up. --list shows
unfinished handoffs, --abandon removes one.

SRC is not changed; --close ends the session there. With --to-channel the session moves to one of SRC's own channels
instead, using the agent's own handoff (Hermes 0.14 and later).`,
  args: {
    src: optional("source agent: NAME or HOST/NAME", "agent"),
    dst: optional("target agent: NAME or HOST/NAME", "agent"),
  },
  options: {
    session: text("ID", "id of the session, or its beginning (default: the most recently used)"),
    fit: choice(
      "HOW",
      ["refuse", "trim", "summarise"],
      "if it does not fit: refuse, drop the oldest turns, or summarise them",
    ),
    context: number("TOKENS", "size of the target model's context window", { min: 1, max: 1_000_000_000 }),
    noTools: flag("leave out tool calls and their results"),
    redact: flag("replace secrets: those that clm stores, and text that looks like one"),
    onlyLast: number("N", "only the last N turns", { min: 1 }),
    denyTool: list(
      "PATTERN",
      "leave out the calls and results of these tools, and quotes of their results elsewhere: whole lines of 12 or more characters, words with digits of 8 or more (repeatable, commas)",
    ),
    close: flag("end the session on the source after the proof"),
    as: text("KEY", "act as this gateway key, which must be allowed to use both agents"),
    toChannel: text("CHANNEL", "move it to this channel of the source agent", { completes: "channel" }),
    reset: flag("with --to-channel: cancel an unfinished request of the agent"),
    wait: number("SECONDS", "with --to-channel: how long to wait for the agent (default 90)", { min: 1, max: 3600 }),
    list: flag("list unfinished handoffs"),
    abandon: text("ID", "remove an unfinished handoff"),
    ...sudoOption,
  },
  ...changesOne,
  examples: [
    "clm handoff hermes-test wolf-ii/helper --dry-run   # only show what would be copied",
    "clm handoff hermes-test helper --session api-0f3a --redact --deny-tool 'terminal,mcp_*' --yes",
    "clm handoff hermes-test helper --only-last 10 --fit summarise",
    "clm handoff hermes-test --to-channel discord",
    "clm handoff --list",
  ],
  load: () => import("./handoff.js"),
});
