import { choice, command, flag, number, list as repeated, text, type Verbs } from "../command.js";
import { agentName, agentNames, choosing, pacing, sudo } from "../recurring.js";
import { inside } from "./inside/commands.js";
import { memory } from "./memory/commands.js";
import { proxy } from "./proxy/commands.js";
import { runtime } from "./runtime/commands.js";
import { secret } from "./secret/commands.js";
import { seeing } from "./see/commands.js";
import { sessions } from "./sessions/commands.js";
import { truth } from "./truth/commands.js";

const many = { ...choosing, ...pacing, ...sudo };
const formats = ["table", "json", "yaml", "name"] as const;

export const install = command({
  path: "agent install",
  summary: "install an agent on a host",
  description: `Checks everything first: the host, its programs, that the account, the unit and the port are free. Then makes an account of the
agent's name that nobody can log in to, runs the pinned installer as that account, checks the version, and writes a unit that is
disabled and not started. The installer's size and SHA-256 are checked here, and the bytes that were checked are the bytes that run.

The installer runs on the host by itself: when the connection is lost or clm is stopped it goes on, and the same command
carries on from there. The same command again, when all is there, changes nothing.`,
  options: {
    type: text("TYPE", "kind of agent, as hermes", { completes: "agent-type" }),
    host: text("HOST", "host to install it on", { completes: "host" }),
    name: text("NAME", "what to call it; becomes its account on the host"),
    version: text("VERSION", "version to install (default: the newest that is pinned)", { completes: "version" }),
    port: number("PORT", "port of its API on the host's loopback (default: the first free one)", {
      min: 1,
      max: 65535,
    }),
    relaxed: flag("a unit that is less closed, for browser tools"),
    installerFile: text("FILE", "use this copy of the installer instead of fetching it; checked all the same", {
      completes: "file",
    }),
    noPackages: flag("end with what to install by hand when programs are missing on the host"),
    ...sudo,
  },
  formats,
  mutates: true,
  examples: [
    { run: "clm agent install --type hermes --host wolf-i --name hermes-test" },
    { run: "clm agent install --type hermes --host wolf-i --name hermes-test --version 2026.5.7 --port 8650 --yes" },
    { run: "clm agent install --type hermes --host wolf-i --name hermes-test --dry-run", note: "only check" },
  ],
  load: () => import("./install.js"),
});

export const configure = command({
  path: "agent configure",
  summary: "onboard an agent: provider, channels, and the proof that it answers",
  description: `Goes through the stages providers, identity, channels and validate. Asks for what is missing, or takes it all from flags or a file:
once one of them answers something, only required questions are asked, and none about more channels.
Writes the agent's .env and config.yaml, starts it, and proves from its host that it is the pinned version, that nobody else has its
port, that its API is closed to everybody without its key and open to its own, and that a model answers.

What a stage has been answered stays answered; the same command again changes nothing and restarts nothing. What clm did not put
in config.yaml stays there. .env is clm's alone: what somebody else put there is named, and goes only with --allow-removal.
Keys are never arguments: --secret says where one is.`,
  args: { names: agentNames },
  options: {
    stage: choice(
      "STAGE",
      ["providers", "identity", "channels", "validate"],
      "only this stage, and what follows from it",
    ),
    file: text("FILE", "take the answers from a YAML file", { completes: "file" }),
    provider: text("PROVIDER", "one of clm provider list", { completes: "provider" }),
    model: text("MODEL", "model to use (default: the provider's own, and none goes back to it)"),
    fallback: repeated("PROVIDER[/MODEL]", "used when the first fails (repeatable, in order; none takes them away)", {
      completes: "provider",
    }),
    auxiliary: repeated(
      "TASK=PROVIDER[/MODEL]",
      "a model for one task, as vision (repeatable; TASK=none takes it away)",
      { completes: "auxiliary-task" },
    ),
    channel: repeated("CHANNEL", "set up a channel, as discord (repeatable)", { completes: "channel" }),
    withoutChannel: repeated("CHANNEL", "take a channel away (repeatable)", { completes: "channel" }),
    mcp: repeated("SERVER", "set up an MCP server, as atlassian (repeatable)", { completes: "mcp-server" }),
    withoutMcp: repeated("SERVER", "take an MCP server away (repeatable)", { completes: "mcp-server" }),
    set: repeated("CHANNEL.FIELD=VALUE", "answer a field of a channel or MCP server (repeatable)", {
      completes: "open-field",
    }),
    secret: repeated(
      "CHANNEL.FIELD=SOURCE",
      "a secret one, from env:NAME, file:PATH, cmd:COMMAND, - or prompt (repeatable)",
      { completes: "secret-field" },
    ),
    port: text("PORT", "another port for its API, or auto for the first free one"),
    relaxed: flag("a unit that is less closed, for browser tools"),
    noRelaxed: flag("the closed unit again"),
    noTest: flag("do not ask providers and channels whether the answers are right"),
    noValidate: flag("prove nothing; the agent stays at validate"),
    skipChat: flag("prove all but a model's answer"),
    allowRemoval: flag("variables in .env that clm did not put there may go"),
    ...many,
  },
  formats: ["table", "json", "yaml", "name"],
  mutates: true,
  examples: [
    { run: "clm agent configure hermes-test", note: "asks for what is missing" },
    { run: "clm agent configure hermes-test --provider router --model anthropic/claude-sonnet-4.5" },
    {
      run: "clm agent configure hermes-test --channel discord --secret discord.token=env:DISCORD_TOKEN --set discord.allowed_users=123456789012345678",
    },
    { run: "clm agent configure hermes-test --file answers.yaml --dry-run", note: "only tell what would change" },
    { run: "clm agent configure 'web-*' --provider router", note: "several at once: nobody is asked" },
    { run: "clm agent configure hermes-test --stage validate", note: "prove it again, change nothing" },
  ],
  load: () => import("./configure.js"),
});

export const channels = command({
  path: "agent channels",
  summary: "list the channels and MCP servers there are, and what each asks",
  description: `What --channel and --mcp of 'clm agent configure' take; FIELDS are what --set and --secret answer. * is required, ! is secret.`,
  formats,
  examples: [
    { run: "clm agent channels" },
    { run: "clm agent channels -o json | jq '.[] | select(.name==\"discord\") | .fields'" },
  ],
  load: () => import("./channels.js"),
});

const endNow = flag("do not wait for running model calls: kill it");

export const start = command({
  path: "agent start",
  summary: "start an agent and see that it answers",
  description: `Enables and starts its unit, watches it for a few seconds, and proves that what answers on its port is this agent: closed to
everybody without its key, open to its own. An agent is started when its onboarding is complete; --force starts it before that.`,
  args: { names: agentNames },
  options: { force: flag("also when onboarding is not complete"), ...many },
  formats,
  mutates: true,
  examples: [{ run: "clm agent start hermes-test" }, { run: "clm agent start wolf-i/hermes-test -o json" }],
  load: () => import("./start.js"),
});

export const stop = command({
  path: "agent stop",
  summary: "stop an agent and keep its data",
  description: `Stops its unit and disables it, so that it does not come up at boot. Everything it has stays where it is. Its proxy, if it has
one, goes on: 'clm agent proxy NAME disable' ends that. An agent finishes the model calls that are running first, which may take
minutes; --now kills it instead. Its data is safe: what it was writing is whole as it was before, and only the answers that were
being made are lost. Processes of its user that run outside its unit are reported, and ended with --strays.`,
  args: { names: agentNames },
  options: {
    now: endNow,
    strays: flag(
      "also end every process of its user outside its unit, and commands that run in it; its proxy is restarted",
    ),
    ...many,
  },
  formats,
  mutates: true,
  examples: [
    { run: "clm agent stop hermes-test" },
    { run: "clm agent stop hermes-test --now" },
    { run: "clm agent stop hermes-test --strays" },
  ],
  load: () => import("./stop.js"),
});

export const restart = command({
  path: "agent restart",
  summary: "stop and start an agent",
  description: `Everything that could keep it from coming up again is checked before it is stopped. Afterwards it is proven as by
'clm agent start'. As by 'clm agent stop', running model calls are finished first unless --now is given.`,
  args: { names: agentNames },
  options: { force: flag("also when onboarding is not complete"), now: endNow, ...many },
  formats,
  mutates: true,
  examples: [
    { run: "clm agent restart hermes-test" },
    { run: "clm agent restart 'web-*' --label site=home" },
    { run: "clm agent restart --all --max-fail 2" },
  ],
  load: () => import("./restart.js"),
});

export const rotateKey = command({
  path: "agent rotate-key",
  summary: "give an agent's API another key",
  description: `Makes a new key, puts it in the agent's files, restarts it, and proves that the new key is let in and the old one is refused.
The key is in secrets.json only. Stopped in the middle, the same command finishes what was begun. An agent that is stopped gets
the key in its files and is not started. A key in secrets.json that is no key any more is replaced in the same way.`,
  args: { names: agentNames },
  options: many,
  formats: ["table", "json", "yaml"],
  mutates: true,
  examples: [{ run: "clm agent rotate-key hermes-test" }],
  load: () => import("./rotate-key.js"),
});

export const remove = command({
  path: "agent remove",
  summary: "remove an agent from its host",
  description: `Copies what the agent and its people made (memories, sessions, jobs, skills it wrote, files in its home) to backups/agents in the config
directory, then removes its unit, its processes and its account with its home, and forgets its keys. The host is left as it was
before the agent came, but for packages, which stay. The agent's name has to be typed, or of several how many they are; --yes
answers that.

Programs, caches, logs and what holds secrets (.env, auth.json, .ssh) are not in the backup: what is secret goes with the agent. A backup takes at most
4 GB and one hour. --forget is for a host that is gone for good.`,
  args: { names: agentNames },
  options: {
    noBackup: flag("keep nothing of what it remembers"),
    force: flag("go on when a part cannot be removed, and tell what is left"),
    forget: flag("the host is gone: only forget the agent and its keys"),
    ...many,
  },
  formats,
  mutates: true,
  examples: [
    { run: "clm agent remove hermes-test" },
    { run: "clm agent remove hermes-test --yes --no-backup" },
    { run: "clm agent remove --host wolf-i", note: "every agent there" },
    { run: "clm agent remove hermes-test --forget", note: "its host is gone" },
  ],
  load: () => import("./remove.js"),
});

export const list = command({
  path: "agent list",
  summary: "list the agents clm knows",
  description: "Shows what was recorded. No host is contacted.",
  options: { host: text("HOST", "only those on this host", { completes: "host" }) },
  formats,
  examples: [{ run: "clm agent list" }, { run: "clm agent list --host wolf-i -o name" }],
  load: () => import("./list.js"),
});

export const show = command({
  path: "agent show",
  summary: "show everything recorded about an agent",
  description: "Shows what was recorded, and what to do next. No host is contacted.",
  args: { name: agentName },
  formats: ["table", "json", "yaml"],
  examples: [{ run: "clm agent show hermes-test" }, { run: "clm agent show wolf-i/hermes-test -o json" }],
  load: () => import("./show.js"),
});

export const agent: Verbs = {
  commands: [
    install,
    configure,
    channels,
    start,
    stop,
    restart,
    rotateKey,
    remove,
    list,
    show,
    ...seeing,
    ...truth,
    ...inside,
    proxy,
    runtime,
  ],
  nouns: [memory, secret, sessions],
};
