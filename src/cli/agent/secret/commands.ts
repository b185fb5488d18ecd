import { command, flag, type Noun, required, text } from "../../command.js";
import { agentName, changesOne, sudoOption } from "../../shared-options.js";

const apply = {
  apply: flag("write it to the host at once, as clm agent configure does"),
  ...sudoOption,
};

const whenApplied = "The agent gets it with the next 'clm agent configure', or at once with --apply.";

export const set = command({
  path: "agent secret set",
  summary: "set a secret of an agent",
  description: `Stores a secret for one agent, such as a key for a tool it uses; it becomes a variable in the agent's
.env. The value is typed at a hidden prompt, or comes from --from or --stdin; it is never an argument.

Hermes removes the names it knows (GITHUB_TOKEN, GH_TOKEN, keys of providers and of its own tools) from the
environment of the commands the agent runs; a name it does not know, such as MY_GITHUB_TOKEN, stays. clm warns about a
name that is removed, and -o json lists it in "stripped".

Keys of providers and channels are set with 'clm provider update' and 'clm agent configure'. ${whenApplied}`,
  args: { name: agentName, key: required("name of the variable, such as MY_GITHUB_TOKEN") },
  options: {
    from: text("SOURCE", "read the value from env:NAME, file:PATH, cmd:COMMAND or - for stdin"),
    stdin: flag("read the value from stdin"),
    ...apply,
  },
  ...changesOne,
  examples: [
    "clm agent secret set hermes-test MY_GITHUB_TOKEN   # prompts for the value",
    "clm agent secret set hermes-test MY_GITHUB_TOKEN --from file:token.txt --apply",
    "pass show github | clm agent secret set hermes-test MY_GITHUB_TOKEN --stdin",
  ],
  load: () => import("./secret.js"),
});

export const list = command({
  path: "agent secret list",
  summary: "list the names of an agent's secrets",
  description: "Shows which secrets are stored for the agent and what uses them, never a value.",
  args: { name: agentName },
  formats: ["table", "json", "yaml", "name"],
  examples: ["clm agent secret list hermes-test", "clm agent secret list hermes-test -o name"],
  load: () => import("./list.js"),
});

export const remove = command({
  path: "agent secret remove",
  summary: "remove a secret of an agent",
  description: `Removes a secret that was set with 'clm agent secret set', also from the backups. ${whenApplied}`,
  args: { name: agentName, key: required("name of the variable, such as MY_GITHUB_TOKEN") },
  options: apply,
  ...changesOne,
  examples: ["clm agent secret remove hermes-test MY_GITHUB_TOKEN"],
  load: () => import("./secret.js"),
});

export const importFile = command({
  path: "agent secret import",
  summary: "import the secrets of a .env file",
  description: `Reads lines of the form NAME=VALUE and stores each as 'clm agent secret set' does: all of them, or
none. Shows the names, never the values, and asks before storing. Lines that parsers of such files read differently
are refused, with their number. ${whenApplied}`,
  args: { name: agentName },
  options: { file: text("PATH", "the .env file", { completes: "file" }), ...apply },
  ...changesOne,
  examples: ["clm agent secret import hermes-test --file tools.env --yes"],
  load: () => import("./secret.js"),
});

export const secret: Noun = {
  name: "agent secret",
  summary: "secrets of one agent",
  commands: [set, list, remove, importFile],
};
