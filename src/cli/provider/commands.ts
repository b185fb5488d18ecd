import { command, flag, list as repeated, required, text } from "../command.js";
import { changesNamed } from "../shared-options.js";

// A key is never an argument: every user of a machine can read the arguments of every process on it.
export const answerOptions = {
  model: text("MODEL", "default model, for agents that set none"),
  endpoint: text("URL", "base URL of the API, for types that need one"),
  region: text("REGION", "region, for types that need one"),
  set: repeated("FIELD=VALUE", "set any field of the type (repeatable)"),
  keyStdin: flag("read the key from stdin"),
  keyFile: text("FILE", "read the key from FILE", { completes: "file" }),
  keyRef: text("SOURCE", "read the key from env:NAME, file:PATH or cmd:COMMAND each time; it is not stored"),
  secret: repeated(
    "FIELD=SOURCE",
    "set any secret field from env:NAME, file:PATH, cmd:COMMAND, - or prompt (repeatable)",
  ),
  secretRef: repeated("FIELD=SOURCE", "like --secret, but read each time and not stored (repeatable)"),
};

const noTest = flag("store it without testing it");

export const types = command({
  path: "provider types",
  summary: "list the provider types and their fields",
  description: "In FIELDS, * marks a required field and ! a secret one.",
  formats: ["table", "json", "yaml", "name"],
  examples: ["clm provider types", "clm provider types -o json | jq '.[] | select(.name==\"bedrock\")'"],
  load: () => import("./types.js"),
});

export const add = command({
  path: "provider add",
  summary: "add a model provider",
  description: `Prompts for the required fields that no option sets, tests the endpoint and the key against the
provider's API, and stores the provider under NAME. It is not stored when the test fails. An endpoint on 127.0.0.1 or
localhost means the agent's own host; it is tested from there by 'clm agent configure'.

Keys are stored only in secrets.json. With --key-ref the key is not stored, but read each time it is needed.`,
  args: { name: required("name for the provider") },
  options: {
    type: text("TYPE", "one of clm provider types", { completes: "provider-type" }),
    ...answerOptions,
    noTest,
  },
  ...changesNamed,
  examples: [
    "clm provider add router --type openrouter --model anthropic/claude-sonnet-4.5   # prompts for the key",
    "pass show openai | clm provider add openai --type openai --key-stdin",
    "clm provider add work --type anthropic --key-ref env:ANTHROPIC_API_KEY",
    "clm provider add gpu --type ollama --endpoint http://gpu.lan:11434 --model llama3.2",
  ],
  load: () => import("./add.js"),
});

export const list = command({
  path: "provider list",
  summary: "list the providers",
  description: "Shows what is recorded on this machine. No provider is contacted.",
  formats: ["table", "json", "yaml", "name"],
  examples: ["clm provider list", "clm provider list -o name"],
  load: () => import("./show.js"),
});

export const show = command({
  path: "provider show",
  summary: "show everything recorded about a provider",
  description: "Shows the record, and for each secret only where it is stored. No provider is contacted.",
  args: { name: required("the provider", "provider") },
  formats: ["table", "json", "yaml"],
  examples: ["clm provider show router", "clm provider show router -o yaml"],
  load: () => import("./show.js"),
});

export const test = command({
  path: "provider test",
  summary: "test a provider's endpoint and key",
  description: `Sends one free request, from this machine or from a host. Exits with 1 when the test fails. On a host
the request and the key are passed to curl on stdin.`,
  args: { name: required("the provider", "provider") },
  options: { host: text("HOST", "send the request from this host", { completes: "host" }) },
  formats: ["table", "json", "yaml"],
  examples: ["clm provider test router", "clm provider test gpu --host wolf-i"],
  load: () => import("./test.js"),
});

export const update = command({
  path: "provider update",
  summary: "change a provider's model, fields or keys",
  description: `Everything that no option changes stays. A new endpoint or key is tested before it is stored. Agents
that use the provider go back to the stage validate: run clm agent configure to apply the change on their hosts.`,
  args: { name: required("the provider", "provider") },
  options: {
    ...answerOptions,
    unset: repeated("FIELD", "remove the value of a field, or of model (repeatable)"),
    noTest,
  },
  ...changesNamed,
  examples: [
    "clm provider update router --model openai/gpt-5",
    "clm provider update router --key-file ~/new-key",
    "clm provider update work --key-ref 'cmd:pass show anthropic'   # no longer stored here",
  ],
  load: () => import("./update.js"),
});

export const remove = command({
  path: "provider remove",
  summary: "remove a provider and its keys",
  description: `Its keys are removed from the backups too. Refused while an agent uses it; with --force those agents
go back to choosing a provider. No host is changed.`,
  args: { name: required("the provider", "provider") },
  options: { force: flag("remove it even when agents use it") },
  mutates: true,
  examples: ["clm provider remove router", "clm provider remove router --force --yes"],
  load: () => import("./remove.js"),
});

export const provider = {
  commands: [types, add, list, show, test, update, remove],
};
