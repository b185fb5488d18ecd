import { command, flag, type Noun, required, text } from "../../command.js";
import { agentName, sudo } from "../../recurring.js";

const apply = {
  apply: flag("put it on the host at once, as clm agent configure does"),
  ...sudo,
};

const later = "It reaches the agent with the next 'clm agent configure', or at once with --apply.";

export const set = command({
  path: "agent secret set",
  summary: "give an agent a secret of its own",
  description: `Keeps a secret for one agent, as a key for a tool it uses; it becomes a variable of that name in the agent's .env. The value is
typed at a hidden prompt, or comes from --from or --stdin; it is never an argument.

Hermes strips names it knows (GITHUB_TOKEN, GH_TOKEN, keys of providers and of its own tools) from the environment of the commands the
agent runs; a name it does not know, as MY_GITHUB_TOKEN, gets there. clm warns when a name is stripped, and -o json lists it in "stripped".

Keys of providers and channels are not set here: see 'clm provider update' and 'clm agent configure'. ${later}`,
  args: { name: agentName, key: required("the variable's name, as MY_GITHUB_TOKEN") },
  options: {
    from: text("SOURCE", "where the value is: env:NAME, file:PATH, cmd:COMMAND or - for stdin"),
    stdin: flag("read the value from stdin"),
    ...apply,
  },
  formats: ["table", "json", "yaml"],
  mutates: true,
  examples: [
    { run: "clm agent secret set hermes-test MY_GITHUB_TOKEN", note: "asks for the value" },
    { run: "clm agent secret set hermes-test MY_GITHUB_TOKEN --from file:token.txt --apply" },
    { run: "pass show github | clm agent secret set hermes-test MY_GITHUB_TOKEN --stdin" },
  ],
  load: () => import("./set.js"),
});

export const list = command({
  path: "agent secret list",
  summary: "list the names of an agent's secrets",
  description: "Shows what is kept for the agent and what uses it. No value is ever shown.",
  args: { name: agentName },
  formats: ["table", "json", "yaml", "name"],
  examples: [{ run: "clm agent secret list hermes-test" }, { run: "clm agent secret list hermes-test -o name" }],
  load: () => import("./list.js"),
});

export const remove = command({
  path: "agent secret remove",
  summary: "forget a secret of an agent",
  description: `Forgets a secret that was set with 'clm agent secret set', in the backups too. ${later}`,
  args: { name: agentName, key: required("the variable's name, as MY_GITHUB_TOKEN") },
  options: apply,
  formats: ["table", "json", "yaml"],
  mutates: true,
  examples: [{ run: "clm agent secret remove hermes-test MY_GITHUB_TOKEN" }],
  load: () => import("./remove.js"),
});

export const importFile = command({
  path: "agent secret import",
  summary: "take over the secrets of a .env file",
  description: `Reads lines of NAME=VALUE and keeps each as 'clm agent secret set' does, all of them or none. Names are shown and asked about;
values are not shown. What different readers of such files read differently is refused, with the line's number. ${later}`,
  args: { name: agentName },
  options: { file: text("PATH", "the .env file", { completes: "file" }), ...apply },
  formats: ["table", "json", "yaml"],
  mutates: true,
  examples: [{ run: "clm agent secret import hermes-test --file tools.env --yes" }],
  load: () => import("./import.js"),
});

export const secret: Noun = {
  name: "agent secret",
  summary: "keep secrets of an agent's own",
  commands: [set, list, remove, importFile],
};
