import { levels } from "../../agents/logs/entry.js";
import { choice, command, commandLine, flag, number, port, list as repeated, text } from "../command.js";
import { doctorOptions } from "../doctor/commands.js";
import {
  agentFilters,
  agentName,
  agentNames,
  batchOptions,
  changeAgents,
  changeAgentsOptions,
  changesNamed,
  changesOne,
  manyAgents,
  manyAgentsOptions,
  sudoOption,
} from "../shared-options.js";
import { memory } from "./memory/commands.js";
import { proxy } from "./proxy/commands.js";
import { runtime } from "./runtime/commands.js";
import { secret } from "./secret/commands.js";
import { sessions } from "./sessions/commands.js";

const { formats } = manyAgents;

export const install = command({
  path: "agent install",
  summary: "install an agent on a host",
  description: `Checks the host first: its programs, and that the account, the unit and the port are free. Then
creates an account without login, named after the agent, runs the pinned installer as that account, checks the
version, and writes a unit that is disabled and not started. clm checks the installer's size and SHA-256 on this
machine and runs exactly those bytes.

The installer keeps running on the host when the connection is lost or clm is stopped; run the same command again to
resume. When everything is installed already, the command changes nothing.

--type program is any program of your own. It has no installer: clm agent configure copies its files.`,
  options: {
    type: text("TYPE", "agent type: hermes, or program for a program of your own", { completes: "agent-type" }),
    host: text("HOST", "host to install it on", { completes: "host" }),
    name: text("NAME", "name of the agent and of its account on the host"),
    version: text("VERSION", "version to install (default: the newest pinned one)", { completes: "version" }),
    port: port("port of its API on the host's loopback interface (default: the first free one)"),
    relaxed: flag("a weaker sandbox, for browser tools"),
    installerFile: text("FILE", "use this copy of the installer instead of downloading it; still verified", {
      completes: "file",
    }),
    noPackages: flag("do not install missing packages; stop and list them"),
    ...sudoOption,
  },
  ...changesNamed,
  examples: [
    "clm agent install --type hermes --host wolf-i --name hermes-test",
    "clm agent install --type hermes --host wolf-i --name hermes-test --version 2026.5.7 --port 8650 --yes",
    "clm agent install --type hermes --host wolf-i --name hermes-test --dry-run   # only check",
    "clm agent install --type program --host wolf-i --name bot   # a program of your own",
  ],
  load: () => import("./install.js"),
});

export const configure = command({
  path: "agent configure",
  summary: "onboard an agent: provider, channels, and proof that it answers",
  description: `Runs the stages providers, identity, channels and validate. Asks for missing answers, or takes them
from flags or a file; once a flag or the file gives an answer, clm asks only required questions and offers no more
channels. Writes the agent's .env and config.yaml, starts it, and proves from its host that it runs the pinned
version, that no other process holds its port, that its API accepts its own key and rejects requests without it, and
that a model answers.

Answers are kept; the same command again changes nothing and restarts nothing. Settings in config.yaml that clm did
not write stay. clm owns .env: variables that somebody else added are listed, and removed only with --allow-removal.
Keys are never arguments; --secret says where to read one.

A program of your own (--type program) has settings instead: command, files, environment, health and health_path.`,
  ...changeAgents,
  options: {
    stage: choice(
      "STAGE",
      ["providers", "identity", "channels", "validate"],
      "run only this stage and the stages that depend on it",
    ),
    file: text("FILE", "read the answers from a YAML file", { completes: "file" }),
    provider: text("PROVIDER", "a provider from clm provider list", { completes: "provider" }),
    model: text("MODEL", "model to use (default: the one of the provider; none returns to it)"),
    fallback: repeated("PROVIDER[/MODEL]", "used when the first fails (repeatable, in order; none removes them)", {
      completes: "provider",
    }),
    auxiliary: repeated(
      "TASK=PROVIDER[/MODEL]",
      "a model for one task, such as vision (repeatable; TASK=none removes it)",
      { completes: "auxiliary-task" },
    ),
    channel: repeated("CHANNEL", "set up a channel, such as discord (repeatable)", { completes: "channel" }),
    withoutChannel: repeated("CHANNEL", "remove a channel (repeatable)", { completes: "channel" }),
    mcp: repeated("SERVER", "set up an MCP server, such as atlassian (repeatable)", { completes: "mcp-server" }),
    withoutMcp: repeated("SERVER", "remove an MCP server (repeatable)", { completes: "mcp-server" }),
    set: repeated("[CHANNEL.]FIELD=VALUE", "set a field of a channel or MCP server, or a setting (repeatable)", {
      completes: "open-field",
    }),
    secret: repeated(
      "CHANNEL.FIELD=SOURCE",
      "set a secret field from env:NAME, file:PATH, cmd:COMMAND, - or prompt (repeatable)",
      { completes: "secret-field" },
    ),
    port: text("PORT", "another port for its API, or auto for the first free one"),
    relaxed: flag("a weaker sandbox, for browser tools"),
    noRelaxed: flag("return to the full sandbox"),
    noTest: flag("do not test the answers with providers and channels"),
    noValidate: flag("skip the proofs; the agent stays at validate"),
    skipChat: flag("skip the proof that a model answers"),
    allowRemoval: flag("remove variables from .env that clm did not write"),
    ...changeAgentsOptions,
  },
  examples: [
    "clm agent configure hermes-test   # asks for missing answers",
    "clm agent configure hermes-test --provider router --model anthropic/claude-sonnet-4.5",
    "clm agent configure hermes-test --channel discord --secret discord.token=env:DISCORD_TOKEN --set discord.allowed_users=123456789012345678",
    "clm agent configure hermes-test --file answers.yaml --dry-run   # only show what would change",
    "clm agent configure 'web-*' --provider router   # several agents: no questions",
    "clm agent configure hermes-test --stage validate   # prove it again, change nothing",
    "clm agent configure bot --set command='python3 bot.py' --set files=bot.py,lib --set health=http   # --type program",
  ],
  load: () => import("./configure.js"),
});

export const channels = command({
  path: "agent channels",
  summary: "list the supported channels and MCP servers, and their fields",
  description: `Lists the values for --channel and --mcp of 'clm agent configure'. Answer FIELDS with --set, or with
--secret for secret fields. * marks a required field, ! a secret one.`,
  formats,
  examples: ["clm agent channels", "clm agent channels -o json | jq '.[] | select(.name==\"discord\") | .fields'"],
  load: () => import("./channels.js"),
});

const now = flag("kill it at once, without waiting for running model calls");

export const start = command({
  path: "agent start",
  summary: "start an agent and prove that it answers",
  description: `Enables and starts its unit, watches it for a few seconds, and proves that the process on its port is
this agent: its API accepts the agent's own key and rejects requests without it. Onboarding must be complete, unless
--force is given.`,
  ...changeAgents,
  options: { force: flag("start it even when onboarding is incomplete"), ...changeAgentsOptions },
  examples: ["clm agent start hermes-test", "clm agent start wolf-i/hermes-test -o json"],
  load: () => import("./start.js"),
});

export const stop = command({
  path: "agent stop",
  summary: "stop an agent and keep its data",
  description: `Stops its unit and disables it, so that it does not start at boot. All data stays. Its proxy, if it
has one, keeps running until 'clm agent proxy disable NAME'. The agent first finishes its running model calls, which
may take minutes; --now kills it instead. That loses only the unfinished answers; the agent's files stay intact.
Processes of its user outside its unit are reported; --strays ends them.`,
  ...changeAgents,
  options: {
    now,
    strays: flag(
      "also end all processes of its user outside its unit, including clm agent exec; its proxy is restarted",
    ),
    ...changeAgentsOptions,
  },
  examples: ["clm agent stop hermes-test", "clm agent stop hermes-test --now", "clm agent stop hermes-test --strays"],
  load: () => import("./stop.js"),
});

export const restart = command({
  path: "agent restart",
  summary: "stop and start an agent",
  description: `Before stopping the agent, checks everything that could prevent it from starting again. Afterwards
proves it like 'clm agent start'. Running model calls are finished first, unless --now is given.`,
  ...changeAgents,
  options: { force: flag("restart it even when onboarding is incomplete"), now, ...changeAgentsOptions },
  examples: [
    "clm agent restart hermes-test",
    "clm agent restart 'web-*' --label site=home",
    "clm agent restart --all --max-fail 2",
  ],
  load: () => import("./start.js"),
});

export const rotateKey = command({
  path: "agent rotate-key",
  summary: "replace the key of an agent's API",
  description: `Creates a new key, writes it to the agent's files, restarts the agent, and proves that the new key is
accepted and the old one rejected. On this machine the key is stored only in secrets.json. If the command is
interrupted, run it again to finish the rotation. A stopped agent gets the new key in its files and is not started. An
invalid key in secrets.json is replaced in the same way.`,
  ...changeAgents,
  options: changeAgentsOptions,
  formats: ["table", "json", "yaml"],
  examples: ["clm agent rotate-key hermes-test"],
  load: () => import("./rotate-key.js"),
});

export const remove = command({
  path: "agent remove",
  summary: "remove an agent from its host",
  description: `Copies the data of the agent and its users (memories, sessions, jobs, skills it wrote, files in its
home) to backups/agents in the config directory. Then removes its unit, its processes and its account with its home,
and deletes its keys. Installed packages stay; nothing else of the agent is left on the host. To confirm, type the
agent's name, or the number of agents if there are several; --yes skips the question.

The backup leaves out programs, caches, logs and secrets (.env, auth.json, .ssh); the secrets are deleted with the
agent. A backup takes at most 4 GB and one hour. --forget is for a host that no longer exists.`,
  ...changeAgents,
  options: {
    noBackup: flag("do not back up its data"),
    force: flag("continue when a part cannot be removed, and list what is left"),
    forget: flag("the host no longer exists: delete only the agent's record and keys here"),
    ...changeAgentsOptions,
  },
  examples: [
    "clm agent remove hermes-test",
    "clm agent remove hermes-test --yes --no-backup",
    "clm agent remove --host wolf-i   # every agent on that host",
    "clm agent remove hermes-test --forget   # its host no longer exists",
  ],
  load: () => import("./remove.js"),
});

export const list = command({
  path: "agent list",
  summary: "list the recorded agents",
  description: "Shows what is recorded on this machine. No host is contacted.",
  options: { host: text("HOST", "only agents on this host", { completes: "host" }) },
  formats,
  examples: ["clm agent list", "clm agent list --host wolf-i -o name"],
  load: () => import("./show.js"),
});

export const show = command({
  path: "agent show",
  summary: "show everything recorded about an agent",
  description: "Shows the agent's record on this machine and the command to run next. No host is contacted.",
  args: { name: agentName },
  formats: ["table", "json", "yaml"],
  examples: ["clm agent show hermes-test", "clm agent show wolf-i/hermes-test -o json"],
  load: () => import("./show.js"),
});

export const status = command({
  path: "agent status",
  summary: "show the live status of agents in full",
  description: `Shows the row of clm ps and the details behind it: every proof with its fix, configuration drift,
channels, whether the host can reach the provider, the process that holds the port, the last error, and the command to
run next. No model is called. Exits with 0 when every named agent runs or is stopped on purpose, otherwise with 1.`,
  ...manyAgents,
  options: { noDrift: flag("do not check for configuration drift"), ...manyAgentsOptions },
  examples: ["clm agent status hermes-test", "clm agent status --host wolf-i -o json | jq '.[].drift'"],
  load: () => import("./status.js"),
});

export const logs = command({
  path: "agent logs",
  summary: "show the logs of agents, from the journal and their log files",
  description: `Merges the journal of each agent's unit with the agent's log files, ordered by time, and shows an
entry that is in several of them once. Continuation lines, such as a traceback, stay with their entry. Known secrets
are replaced by [secret], in any encoding.

--follow keeps printing new entries until Ctrl-C, across rotated files, restarted agents and lost connections. Nothing
keeps running on the hosts. Times are in this machine's time zone; -o json prints one object per line, with times in
UTC.`,
  args: { names: agentNames },
  options: {
    follow: flag("keep printing new entries", { short: "f" }),
    since: text("TIME", "start time: 90s, 15m, 2h, 3d ago, or 09:30, 2026-11-16, '2026-11-16 09:30'"),
    until: text("TIME", "end time"),
    lines: number("N", "the last N matching entries of each agent (default 100; with --since all)", {
      min: 0,
      max: 1_000_000,
      short: "n",
    }),
    level: choice("LEVEL", levels, "only entries of this level or above"),
    grep: text("REGEX", "only entries that match; ignores case unless REGEX has a capital letter"),
    source: repeated(
      "SOURCE",
      "only entries from this source: journal, agent, gateway, errors, mcp-stderr (repeatable)",
    ),
    utc: flag("show times in UTC, and read --since and --until as UTC"),
    ...manyAgentsOptions,
  },
  formats: ["table", "json"],
  examples: [
    "clm agent logs hermes-test",
    "clm agent logs hermes-test -f",
    "clm agent logs --all --since 1h --level warning",
    "clm agent logs 'web-*' --grep 'timed out|refused' -o json | jq -r .message",
  ],
  load: () => import("./logs.js"),
});

export const doctor = command({
  path: "agent doctor",
  summary: "diagnose agents and fix what is safe to fix",
  description: `Checks each agent on its host: the proofs of clm agent configure except the model call, which costs
tokens; configuration drift, provider, channels, disk, clock, memory, restarts, secrets, and its log since it was
started. Known problems are named together with their fix. Problems that the agent has recovered from raise no alarm.

With --fix, an agent with configuration drift is synced, and one that should run but does not is started; then it is
checked again.`,
  ...changeAgents,
  options: { ...doctorOptions, ...agentFilters },
  formats: ["table", "json", "yaml"],
  examples: [
    "clm agent doctor hermes-test",
    "clm agent doctor --all --fix",
    "clm agent doctor hermes-test --verbose   # every check",
  ],
  load: () => import("./doctor.js"),
});

export const diff = command({
  path: "agent diff",
  summary: "show configuration drift",
  description: `Compares the account, the directories, .env, config.yaml and the unit of each agent on its host with
its configuration, using the same operations as 'clm agent configure', and changes nothing. For .env it shows only
names and fingerprints; fingerprints differ in every run, so they reveal nothing about the value. In config.yaml only
the settings that clm wrote are compared.

Exits with 0 when nothing differs, with 3 when something does, and with another code when an agent could not be
compared. An agent that was stopped with 'clm agent stop' is expected to be stopped; before onboarding is complete,
only files are compared.`,
  ...manyAgents,
  options: { ...agentFilters, parallel: batchOptions.parallel, ...sudoOption },
  examples: ["clm agent diff hermes-test", "clm agent diff 'web-*' -o json | jq '.[] | select(.result!=\"same\")'"],
  load: () => import("./diff.js"),
});

export const sync = command({
  path: "agent sync",
  summary: "repair configuration drift and prove that the agent answers",
  description: `Repairs the differences that 'clm agent diff' shows, restarts the agent when its settings or its unit
changed, and proves that it answers. The same command again changes nothing and restarts nothing. A model is called
only when .env or config.yaml had drifted. An agent that was stopped with 'clm agent stop' stays stopped.

clm leaves alone what it does not manage: other settings in config.yaml, memories, and files in the agent's home. It
owns .env and the unit: variables that somebody else added to .env are removed, and so are drop-ins and other files
that override the unit of this agent. --dry-run shows what would be removed.`,
  ...changeAgents,
  options: changeAgentsOptions,
  examples: [
    "clm agent sync hermes-test",
    "clm agent sync hermes-test --dry-run   # only show what would change",
    "clm agent sync --all",
  ],
  load: () => import("./sync.js"),
});

export const exec = command({
  path: "agent exec",
  summary: "run a command as an agent's user, with its environment",
  description: `Everything after -- is the command, passed on unchanged; a single word is run by a shell, so that '… |
…' works. The command runs in the agent's home with the environment of its service, including .env, in a transient
unit of its own: when the command ends, when you press Ctrl-C, or when clm is killed, every process it started ends
too. The agent itself is not affected.

With one agent, stdin is passed to the command, its output is printed byte for byte as it arrives, and clm exits with
its exit code. Several agents get no input; the output of each is printed as a block when it is complete, and clm
exits with the highest code. Secrets that clm stores are shown as [secret]. On a terminal escape sequences are
removed, because an agent could use them to change what you see; --raw keeps them. The audit log records the program's
name, not its arguments.`,
  args: { names: agentNames, command: commandLine("the command to run") },
  options: {
    ...agentFilters,
    ...batchOptions,
    raw: flag("keep escape sequences and control characters, even on a terminal"),
    ...sudoOption,
  },
  ...changesOne,
  examples: [
    "clm agent exec hermes-test -- hermes sessions stats",
    "clm agent exec hermes-test --raw -- ls --color=always   # with colours",
    "clm agent exec hermes-test -- 'du -sh ~/.hermes | cut -f1'   # one word: run by a shell",
    "clm agent exec hermes-test -- tar -cz .hermes/skills > skills.tar.gz",
    "clm agent exec --all -- hermes --version",
  ],
  load: () => import("./exec.js"),
});

export const shell = command({
  path: "agent shell",
  summary: "open a shell as an agent's user, with its environment",
  description: `Opens an interactive bash, or sh if the host has no bash, in the agent's home and with the environment
of its service, although its account has no login. The shell and every process started in it end when you leave it or
the connection is lost. Its output is shown unchanged, including secrets. For scripts use 'clm agent exec'.`,
  args: { name: agentName },
  options: sudoOption,
  mutates: true,
  examples: ["clm agent shell hermes-test"],
  load: () => import("./shell.js"),
});

export const key = command({
  path: "agent key",
  summary: "print the key of an agent's API",
  description: `For pipes and other commands; no host is contacted. --header prints the whole header for curl -H @-,
so that the key is never a command-line argument: every user of a machine can read the arguments of every process on
it. To print the key on a terminal, where others may see it, add --show. The audit log records that the key was
printed.`,
  args: { name: agentName },
  options: {
    header: flag("print the header 'Authorization: Bearer KEY'"),
    show: flag("print the key even on a terminal"),
  },
  mutates: true,
  examples: [
    "clm agent key hermes-test --header | curl -sH @- http://127.0.0.1:8642/v1/models",
    "clm agent key hermes-test --show",
  ],
  load: () => import("./key.js"),
});

export const open = command({
  path: "agent open",
  summary: "open an agent's dashboard on this machine",
  description: `Starts the agent's dashboard on its host, as the agent's user and in the sandbox of its service, waits
until it answers, and forwards a port on 127.0.0.1 here to it through the SSH connection, until Ctrl-C. When clm ends,
however it ends, the dashboard on the host ends too. The agent itself need not be running. When the connection is
lost, clm starts a new dashboard: reload the page.

The dashboard has no password: while it is open, everyone with an account on this machine or on the host can use it.
The first start may take minutes, because some versions build their pages then. With -o json clm prints one line for
each of open, lost, waiting, back and closed.`,
  args: { name: agentName },
  options: {
    port: port("port on this machine (default: any free port)"),
    browser: flag("open it in the browser"),
    ...sudoOption,
  },
  formats: ["table", "json"],
  mutates: true,
  examples: ["clm agent open hermes-test", "clm agent open hermes-test --port 9119 --browser"],
  load: () => import("./open.js"),
});

export const agent = {
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
    status,
    logs,
    doctor,
    diff,
    sync,
    exec,
    shell,
    key,
    open,
  ],
  nouns: [memory, proxy, runtime, secret, sessions],
};
