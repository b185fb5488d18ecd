import { choice, command, flag, type Noun, number, required, rest, text } from "../../command.js";
import { agentName, sudoOption } from "../../shared-options.js";

const lists = ["table", "json", "yaml", "name"] as const;

const filters = {
  source: text("SOURCE", "only sessions from this source: cli, api_server, telegram and so on"),
  since: text("TIME", "start time: 30m, 12h, 7d, or a date"),
};

const readOnly = "Reads with the agent's own permissions, whether it runs or not, and writes nothing.";

export const list = command({
  path: "agent sessions list",
  summary: "list an agent's sessions",
  description: `Reads them from the agent's state.db on the host, most recently used first. ${readOnly}`,
  args: { name: agentName },
  options: {
    limit: number("N", "at most N sessions", { min: 1, max: 100_000, default: 50 }),
    ...filters,
    ...sudoOption,
  },
  formats: lists,
  examples: [
    "clm agent sessions list hermes-test",
    "clm agent sessions list hermes-test --source telegram --since 7d -o json",
  ],
  load: () => import("./sessions.js"),
});

export const show = command({
  path: "agent sessions show",
  summary: "show a session",
  description: `Shows every message with its author and time. Tool calls and their results are shortened unless --full
is given. An unambiguous beginning of the id is enough. ${readOnly}`,
  args: { name: agentName, id: required("id of the session, or its beginning") },
  options: { full: flag("do not shorten tool calls and results"), ...sudoOption },
  formats: ["table", "json", "yaml"],
  examples: [
    "clm agent sessions show hermes-test 20260131_0800",
    "clm agent sessions show hermes-test api-0f3a --full",
  ],
  load: () => import("./sessions.js"),
});

export const exporting = command({
  path: "agent sessions export",
  summary: "copy sessions to this machine",
  description: `Prints whole sessions, or writes them to a file that only you can read. jsonl is one line per session,
with every column of the agent's database and the messages, like the agent's own export; md is text to read. Secrets
that clm stores are shown as [secret] in both. ${readOnly}`,
  args: { name: agentName, ids: rest("ids of the sessions, or their beginnings") },
  options: {
    all: flag("every session"),
    format: choice("FORMAT", ["jsonl", "md"], "format of the export", { default: "jsonl" }),
    to: text("FILE", "write to FILE instead of stdout", { completes: "file" }),
    force: flag("overwrite FILE if it exists"),
    ...sudoOption,
  },
  examples: [
    "clm agent sessions export hermes-test --all --to sessions.jsonl",
    "clm agent sessions export hermes-test 20260131_0800 --format md",
  ],
  load: () => import("./sessions.js"),
});

export const search = command({
  path: "agent sessions search",
  summary: "search the messages of all sessions",
  description: `Finds messages that contain all of the words, newest first; TEXT has no special syntax. ${readOnly}`,
  args: { name: agentName, text: required("words to search for") },
  options: {
    limit: number("N", "at most N messages", { min: 1, max: 10_000, default: 50 }),
    ...filters,
    ...sudoOption,
  },
  formats: lists,
  examples: [
    "clm agent sessions search hermes-test invoice",
    "clm agent sessions search hermes-test 'disk full' --since 7d",
  ],
  load: () => import("./sessions.js"),
});

export const sessions: Noun = {
  name: "agent sessions",
  summary: "read an agent's sessions",
  commands: [list, show, exporting, search],
};
