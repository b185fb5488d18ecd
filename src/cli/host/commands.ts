import { command, commandLine, flag, number, port, list as repeated, required, rest, text } from "../command.js";
import { changesNamed, changesOne, sudoOption } from "../shared-options.js";

const reach = {
  address: text("ADDRESS", "name or IP address to connect to"),
  user: text("USER", "user to log in as"),
  port: port("port of the SSH server"),
  identity: text("FILE", "private key to log in with", { completes: "file" }),
};

const many = {
  all: flag("every host"),
  label: repeated("KEY=VALUE", "hosts with this label (repeat: hosts with all of them)", { short: "l" }),
};

const parallel = number("N", "hosts to contact at the same time", { min: 1, max: 1000, default: 64 });

export const add = command({
  path: "host add",
  summary: "add a host: pin its key, log in, record its facts",
  description: `Connects to the host, shows the fingerprint of its key and asks whether it is the right one. Only then
does clm log in. The host's facts (system, memory, disk, systemd, sudo) are recorded under NAME, which stays the same
when the address changes.

Address, user, port and key default to your SSH configuration. In scripts, --fingerprint gives the expected key;
--accept-new accepts any key on this first connection.`,
  args: { name: required("name for the host") },
  options: {
    ...reach,
    label: repeated("KEY=VALUE", "label for selecting the host (repeatable)", { short: "l" }),
    fingerprint: text("SHA256:…", "expected fingerprint of the host's key; asks no question"),
    acceptNew: flag("trust the host's key without asking"),
  },
  ...changesNamed,
  examples: [
    "clm host add wolf-i --address 192.168.1.20 --user maurice",
    "clm host add wolf-i --label rack=b2 --label gpu=yes   # address and user come from ~/.ssh/config",
    "clm host add wolf-i --address 192.168.1.20 --fingerprint SHA256:f4vTqdg0TZmxrFkSGOQ/DB5wVIDZyEFWnVgLyxvTdhI   # in a script",
  ],
  load: () => import("./add.js"),
});

export const list = command({
  path: "host list",
  summary: "list the recorded hosts",
  description: "Shows what is recorded on this machine, and how old it is. No host is contacted.",
  options: { label: many.label },
  formats: ["table", "json", "yaml", "name"],
  examples: ["clm host list", "clm host list --label gpu=yes -o name", "clm host list -o json | jq -r '.[].address'"],
  load: () => import("./list.js"),
});

export const show = command({
  path: "host show",
  summary: "show everything recorded about a host",
  description: "Shows the record on this machine, and how old it is. The host is not contacted.",
  args: { name: required("the host", "host") },
  formats: ["table", "json", "yaml"],
  examples: ["clm host show wolf-i", "clm host show wolf-i -o yaml"],
  load: () => import("./show.js"),
});

export const check = command({
  path: "host check",
  summary: "check that hosts are ready for agents",
  description: `Runs these checks on each host: reachable, pinned key, login, sudo, systemd, disk and more. Each check
has a stable id, a result, a reason and a fix. Exits with 1 when a check fails.`,
  args: { names: rest("the hosts (default: all)", "host-pattern") },
  options: { ...many, parallel, ...sudoOption },
  formats: ["table", "json", "yaml"],
  examples: ["clm host check wolf-i", "clm host check --all -o json", "clm host check --label rack=b2"],
  load: () => import("./check.js"),
});

export const update = command({
  path: "host update",
  summary: "change a host's address, login or labels",
  description: `A new address, user, port or key is tested before it is recorded, and the host must present the pinned
key. Every update also refreshes the recorded facts (system, memory, disk, sudo), even when nothing else changes.`,
  args: { name: required("the host", "host") },
  options: {
    ...reach,
    label: repeated("KEY=VALUE", "set a label (repeatable)", { short: "l" }),
    removeLabel: repeated("KEY", "remove a label (repeatable)"),
    offline: flag("record it without contacting the host"),
  },
  ...changesNamed,
  examples: [
    "clm host update wolf-i --address 10.0.0.7",
    "clm host update wolf-i --label rack=b3 --remove-label gpu",
    "clm host update wolf-i   # only refresh its facts",
  ],
  load: () => import("./update.js"),
});

export const rename = command({
  path: "host rename",
  summary: "rename a host",
  args: { oldName: required("current name", "host"), newName: required("new name") },
  mutates: true,
  examples: ["clm host rename wolf-i wolf-1"],
  load: () => import("./rename.js"),
});

export const trust = command({
  path: "host trust",
  summary: "pin a host's new key",
  description: `Every command refuses a host whose key differs from the pinned one. If you know why the key changed
(the host was reinstalled, its key was replaced), this shows both fingerprints, asks, and pins the new one.`,
  args: { name: required("the host", "host") },
  options: { fingerprint: text("SHA256:…", "expected fingerprint of the new key; asks no question") },
  mutates: true,
  examples: [
    "clm host trust wolf-i",
    "clm host trust wolf-i --fingerprint SHA256:f4vTqdg0TZmxrFkSGOQ/DB5wVIDZyEFWnVgLyxvTdhI",
  ],
  load: () => import("./trust.js"),
});

export const exec = command({
  path: "host exec",
  summary: "run a command on many hosts",
  description: `Select hosts by name, by pattern ('lab-*'), by --label or with --all. Everything after -- is the
command, passed on unchanged; a single word is run by the host's shell, so that '… | …' works. The command gets no
input. The output of one host is printed as it arrives; with several hosts, the output of each is printed as a block
when it is complete (at most 8 MB). On a terminal escape sequences are removed, because a host could use them to
change what you see; --raw keeps them. Exits with the highest exit code of all hosts. Ctrl-C and --timeout also end
the command on the hosts. The audit log records the program's name, not its arguments.`,
  args: {
    patterns: rest("hosts: names or patterns", "host-pattern"),
    command: commandLine("the command to run"),
  },
  options: {
    ...many,
    sudo: flag("run it as root"),
    timeout: number("SECONDS", "give up on a host after this time", { min: 1 }),
    raw: flag("keep escape sequences and control characters, even on a terminal"),
    parallel,
    ...sudoOption,
  },
  ...changesOne,
  examples: [
    "clm host exec 'lab-*' -- uname -a",
    "clm host exec --label rack=b2 --sudo -- systemctl is-system-running",
    "clm host exec --all --timeout 10 -- 'df -h / | tail -1'   # one word: run by the host's shell",
    "clm host exec wolf-i --raw -- ls --color=always /   # with colours",
  ],
  load: () => import("./exec.js"),
});

export const remove = command({
  path: "host remove",
  summary: "remove a host from clm",
  description: `Deletes the host's record and its pinned key on this machine. Nothing is changed on the host.
Refused while it has agents; --forget is for a host that no longer exists, and deletes the records of its agents too.`,
  args: { name: required("the host", "host") },
  options: { forget: flag("the host no longer exists: also delete the records of its agents") },
  mutates: true,
  examples: ["clm host remove wolf-i", "clm host remove wolf-i --forget --yes"],
  load: () => import("./remove.js"),
});

export const host = {
  commands: [add, list, show, check, update, rename, trust, exec, remove],
};
