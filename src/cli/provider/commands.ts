import { command, flag, list as repeated, required, text, type Verbs } from "../command.js";

// A key is never an argument: every user of a machine can read the arguments of every process on it.
const answers = {
  model: text("MODEL", "model for agents that name none of their own"),
  endpoint: text("URL", "address of the service, for types that have one"),
  region: text("REGION", "region of the service, for types that have one"),
  set: repeated("FIELD=VALUE", "answer any field of the type (repeatable)"),
  keyStdin: flag("read the key from stdin"),
  keyFile: text("FILE", "read the key from FILE", { completes: "file" }),
  keyRef: text("SOURCE", "fetch the key each time from env:NAME, file:PATH or cmd:COMMAND; it is not stored"),
  secret: repeated("FIELD=SOURCE", "any secret field, from env:NAME, file:PATH, cmd:COMMAND, - or prompt (repeatable)"),
  secretRef: repeated("FIELD=SOURCE", "the same, fetched each time and not stored (repeatable)"),
};

const noTest = flag("store it without asking the service");

export const types = command({
  path: "provider types",
  summary: "list the types of providers, and what each asks",
  description: "In FIELDS, * is required and ! is secret.",
  formats: ["table", "json", "yaml", "name"],
  examples: [
    { run: "clm provider types" },
    { run: "clm provider types -o json | jq '.[] | select(.name==\"bedrock\")'" },
  ],
  load: () => import("./types.js"),
});

export const add = command({
  path: "provider add",
  summary: "add a service that answers for models",
  description: `Asks for what the type needs and was not given, asks the service whether address and key are right, and stores the provider under
NAME. What the service refuses is not stored. An address on 127.0.0.1 or localhost means the agent's own host and is tested from there, at
configure.

Keys are stored in secrets.json and nowhere else. With --key-ref it is not stored at all, but fetched each time it is needed.`,
  args: { name: required("what to call the provider from now on") },
  options: { type: text("TYPE", "one of clm provider types", { completes: "provider-type" }), ...answers, noTest },
  formats: ["table", "json", "yaml", "name"],
  mutates: true,
  examples: [
    { run: "clm provider add router --type openrouter --model anthropic/claude-sonnet-4.5", note: "asks for the key" },
    { run: "pass show openai | clm provider add openai --type openai --key-stdin" },
    { run: "clm provider add work --type anthropic --key-ref env:ANTHROPIC_API_KEY" },
    { run: "clm provider add gpu --type ollama --endpoint http://gpu.lan:11434 --model llama3.2" },
  ],
  load: () => import("./add.js"),
});

export const list = command({
  path: "provider list",
  summary: "list the providers clm knows",
  description: "Shows what was recorded. No service is asked.",
  formats: ["table", "json", "yaml", "name"],
  examples: [{ run: "clm provider list" }, { run: "clm provider list -o name" }],
  load: () => import("./list.js"),
});

export const show = command({
  path: "provider show",
  summary: "show everything recorded about a provider",
  description: "Shows what was recorded, and of secrets only where they are. No service is asked.",
  args: { name: required("the provider", "provider") },
  formats: ["table", "json", "yaml"],
  examples: [{ run: "clm provider show router" }, { run: "clm provider show router -o yaml" }],
  load: () => import("./show.js"),
});

export const test = command({
  path: "provider test",
  summary: "ask a provider's service whether address and key are right",
  description: `Asks one question that costs nothing, from this machine or from a host. Ends with 1 when the answer is no. On a host the question and
the key travel on the stdin of one curl.`,
  args: { name: required("the provider", "provider") },
  options: { host: text("HOST", "ask from this host", { completes: "host" }) },
  formats: ["table", "json", "yaml"],
  examples: [{ run: "clm provider test router" }, { run: "clm provider test gpu --host wolf-i" }],
  load: () => import("./test.js"),
});

export const update = command({
  path: "provider update",
  summary: "change a provider's model, fields or keys",
  description: `What is not given stays. A new address or key is tried before it is stored. Agents that use the provider go back to validate: configure
them for the change to reach their hosts.`,
  args: { name: required("the provider", "provider") },
  options: { ...answers, unset: repeated("FIELD", "forget the answer of a field, or model (repeatable)"), noTest },
  formats: ["table", "json", "yaml", "name"],
  mutates: true,
  examples: [
    { run: "clm provider update router --model openai/gpt-5" },
    { run: "clm provider update router --key-file ~/new-key" },
    { run: "clm provider update work --key-ref 'cmd:pass show anthropic'", note: "from now on it is not stored here" },
  ],
  load: () => import("./update.js"),
});

export const remove = command({
  path: "provider remove",
  summary: "forget a provider and its keys",
  description: `Its keys are forgotten in the backups too. Refused while an agent uses it; with --force those agents go back to choosing one.
Nothing is changed on any host.`,
  args: { name: required("the provider", "provider") },
  options: { force: flag("also when agents use it") },
  mutates: true,
  examples: [{ run: "clm provider remove router" }, { run: "clm provider remove router --force --yes" }],
  load: () => import("./remove.js"),
});

export const provider: Verbs = {
  commands: [types, add, list, show, test, update, remove],
};
