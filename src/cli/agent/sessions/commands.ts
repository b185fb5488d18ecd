import { choice, command, flag, type Noun, number, required, rest, text } from "../../command.js";
import { agentName, sudo } from "../../recurring.js";

const lists = ["table", "json", "yaml", "name"] as const;

const narrowing = {
  source: text("SOURCE", "only those held there: cli, api_server, telegram and so on"),
  since: text("TIME", "only what is not older: 30m, 12h, 7d, or a date"),
};

const safely = "It is read with the agent's own rights, running or not, and nothing is written.";

export const list = command({
  path: "agent sessions list",
  summary: "list the conversations an agent has had",
  description: `Reads them from the agent's state.db on the host, the one that was used last first. ${safely}`,
  args: { name: agentName },
  options: {
    limit: number("N", "at most so many", { min: 1, max: 100_000, default: 50 }),
    ...narrowing,
    ...sudo,
  },
  formats: lists,
  examples: [
    { run: "clm agent sessions list hermes-test" },
    { run: "clm agent sessions list hermes-test --source telegram --since 7d -o json" },
  ],
  load: () => import("./list.js"),
});

export const show = command({
  path: "agent sessions show",
  summary: "show a conversation",
  description: `Shows who said what, and when. What tools were given and what they answered is shortened; --full shows all of it. The beginning
of an id is enough when no other session begins so. ${safely}`,
  args: { name: agentName, id: required("the session, or how its id begins") },
  options: { full: flag("shorten nothing"), ...sudo },
  formats: ["table", "json", "yaml"],
  examples: [
    { run: "clm agent sessions show hermes-test 20260131_0800" },
    { run: "clm agent sessions show hermes-test api-0f3a --full" },
  ],
  load: () => import("./show.js"),
});

export const exporting = command({
  path: "agent sessions export",
  summary: "copy conversations to this machine",
  description: `Prints whole sessions, or writes them to a file that only you can read. As jsonl each is one line with every column the agent has and
its messages, as the agent exports them itself; as md it is text to read. Secrets that clm keeps show as [secret] in both. ${safely}`,
  args: { name: agentName, ids: rest("the sessions, or how their ids begin") },
  options: {
    all: flag("every session"),
    format: choice("FORMAT", ["jsonl", "md"], "how to write them", { default: "jsonl" }),
    to: text("FILE", "write to FILE instead of stdout", { completes: "file" }),
    force: flag("replace FILE when it is there"),
    ...sudo,
  },
  examples: [
    { run: "clm agent sessions export hermes-test --all --to sessions.jsonl" },
    { run: "clm agent sessions export hermes-test 20260131_0800 --format md" },
  ],
  load: () => import("./export.js"),
});

export const search = command({
  path: "agent sessions search",
  summary: "find what was said in any conversation",
  description: `Finds messages that have all of the words in them, the latest first; nothing in TEXT is syntax. ${safely}`,
  args: { name: agentName, text: required("what to look for") },
  options: {
    limit: number("N", "at most so many", { min: 1, max: 10_000, default: 50 }),
    ...narrowing,
    ...sudo,
  },
  formats: lists,
  examples: [
    { run: "clm agent sessions search hermes-test invoice" },
    { run: "clm agent sessions search hermes-test 'disk full' --since 7d" },
  ],
  load: () => import("./search.js"),
});

export const sessions: Noun = {
  name: "agent sessions",
  summary: "read the conversations an agent has had",
  commands: [list, show, exporting, search],
};
