import { command, commandLine, flag, number, list as repeated, required, rest, text, type Verbs } from "../command.js";
import { sudo } from "../recurring.js";

const reach = {
  address: text("ADDRESS", "name or IP address to connect to"),
  user: text("USER", "user to log in as"),
  port: number("PORT", "port of the SSH server", { min: 1, max: 65535 }),
  identity: text("FILE", "private key to log in with", { completes: "file" }),
};

const many = {
  all: flag("every host"),
  label: repeated("KEY=VALUE", "hosts with this label (repeat: hosts with all of them)", { short: "l" }),
};

const parallel = number("N", "hosts asked at the same time", { min: 1, max: 1000, default: 64 });

export const add = command({
  path: "host add",
  summary: "pin a host's key, log in and record what it is",
  description: `Connects to the host, shows the fingerprint of its key and asks whether it is the right one. Only then does it log in.
What the host is (system, memory, disk, systemd, sudo) is recorded under NAME. NAME stays the same when the address changes.

Address, user, port and key that are not given are taken from your SSH configuration.
For scripts, --fingerprint says which key is right; --accept-new takes whatever key the host shows this first time.`,
  args: { name: required("what to call the host from now on") },
  options: {
    ...reach,
    label: repeated("KEY=VALUE", "label to find the host by (repeatable)", { short: "l" }),
    fingerprint: text("SHA256:…", "the host's key must have this fingerprint; nothing is asked"),
    acceptNew: flag("trust the key the host shows, without asking"),
  },
  formats: ["table", "json", "yaml", "name"],
  mutates: true,
  examples: [
    { run: "clm host add wolf-i --address 192.168.1.20 --user maurice" },
    { run: "clm host add wolf-i --label rack=b2 --label gpu=yes", note: "address and user come from ~/.ssh/config" },
    {
      run: "clm host add wolf-i --address 192.168.1.20 --fingerprint SHA256:f4vTqdg0TZmxrFkSGOQ/DB5wVIDZyEFWnVgLyxvTdhI",
      note: "in a script",
    },
  ],
  load: () => import("./add.js"),
});

export const list = command({
  path: "host list",
  summary: "list the hosts clm knows",
  description: "Shows what was recorded, with its age. No host is contacted.",
  options: { label: many.label },
  formats: ["table", "json", "yaml", "name"],
  examples: [
    { run: "clm host list" },
    { run: "clm host list --label gpu=yes -o name" },
    { run: "clm host list -o json | jq -r '.[].address'" },
  ],
  load: () => import("./list.js"),
});

export const show = command({
  path: "host show",
  summary: "show everything recorded about a host",
  description: "Shows what was recorded, with its age. The host is not contacted.",
  args: { name: required("the host", "host") },
  formats: ["table", "json", "yaml"],
  examples: [{ run: "clm host show wolf-i" }, { run: "clm host show wolf-i -o yaml" }],
  load: () => import("./show.js"),
});

export const check = command({
  path: "host check",
  summary: "check that hosts are fit for agents",
  description: `Runs a list of checks on each host: it answers, its key is the pinned one, login, sudo, systemd, disk and so on.
Each check has an id that stays the same, a result, the reason and what to do. Ends with 1 when one fails.`,
  args: { names: rest("the hosts (all hosts when none is named)", "host-pattern") },
  options: { ...many, parallel, ...sudo },
  formats: ["table", "json", "yaml"],
  examples: [
    { run: "clm host check wolf-i" },
    { run: "clm host check --all -o json" },
    { run: "clm host check --label rack=b2" },
  ],
  load: () => import("./check.js"),
});

export const update = command({
  path: "host update",
  summary: "change how a host is reached, or its labels",
  description: `A new address, user, port or key is tried before it is recorded, and the host must show the key that is pinned.
What the host is (system, memory, disk, sudo) is read again with every update, also with one that changes nothing else.`,
  args: { name: required("the host", "host") },
  options: {
    ...reach,
    label: repeated("KEY=VALUE", "set a label (repeatable)", { short: "l" }),
    removeLabel: repeated("KEY", "remove a label (repeatable)"),
    offline: flag("record it without contacting the host"),
  },
  formats: ["table", "json", "yaml", "name"],
  mutates: true,
  examples: [
    { run: "clm host update wolf-i --address 10.0.0.7" },
    { run: "clm host update wolf-i --label rack=b3 --remove-label gpu" },
    { run: "clm host update wolf-i", note: "only read again what it is" },
  ],
  load: () => import("./update.js"),
});

export const rename = command({
  path: "host rename",
  summary: "give a host another name",
  args: { oldName: required("the name now", "host"), newName: required("the name from now on") },
  mutates: true,
  examples: [{ run: "clm host rename wolf-i wolf-1" }],
  load: () => import("./rename.js"),
});

export const trust = command({
  path: "host trust",
  summary: "pin a host's key again after it changed",
  description: `A host that shows another key than the pinned one is refused by every command. When you know why the key changed (the
host was installed anew, its key was replaced), this shows both fingerprints, asks, and pins the new one.`,
  args: { name: required("the host", "host") },
  options: { fingerprint: text("SHA256:…", "the new key must have this fingerprint; nothing is asked") },
  mutates: true,
  examples: [
    { run: "clm host trust wolf-i" },
    { run: "clm host trust wolf-i --fingerprint SHA256:f4vTqdg0TZmxrFkSGOQ/DB5wVIDZyEFWnVgLyxvTdhI" },
  ],
  load: () => import("./trust.js"),
});

export const exec = command({
  path: "host exec",
  summary: "run a command on many hosts at once",
  description: `Hosts are chosen by name, by pattern ('lab-*'), by --label or with --all. Everything after -- is the command and is passed
on as it is; a single word is given to the host's shell, so that '… | …' works. The command gets no input. What one host says is
passed on as it comes; of several, each one's answer is shown as a block when it is whole (its first 8 MB). A terminal gets text without escape
sequences, with which a host could change what you see; --raw passes them on.
Ends with the worst exit code of all hosts. Ctrl-C and --timeout end the command on the hosts too. The audit log keeps the
program's name and not what it was given.`,
  args: {
    patterns: rest("names or patterns of hosts", "host-pattern"),
    command: commandLine("what to run there"),
  },
  options: {
    ...many,
    sudo: flag("run it as root"),
    timeout: number("SECONDS", "give up on a host after this long", { min: 1 }),
    raw: flag("also on a terminal: escape sequences and control characters as they come"),
    parallel,
    ...sudo,
  },
  formats: ["table", "json", "yaml"],
  mutates: true,
  examples: [
    { run: "clm host exec 'lab-*' -- uname -a" },
    { run: "clm host exec --label rack=b2 --sudo -- systemctl is-system-running" },
    { run: "clm host exec --all --timeout 10 -- 'df -h / | tail -1'", note: "one word: the host's shell reads it" },
    { run: "clm host exec wolf-i --raw -- ls --color=always /", note: "with its colours" },
  ],
  load: () => import("./exec.js"),
});

export const remove = command({
  path: "host remove",
  summary: "forget a host",
  description: `Removes the host and its pinned key from clm's state. Nothing is changed on the host.
Refused while agents live there; --forget is for a host that is gone for good, and forgets its agents with it.`,
  args: { name: required("the host", "host") },
  options: { forget: flag("the host is gone: forget it and everything on it") },
  mutates: true,
  examples: [{ run: "clm host remove wolf-i" }, { run: "clm host remove wolf-i --forget --yes" }],
  load: () => import("./remove.js"),
});

export const host: Verbs = {
  commands: [add, list, show, check, update, rename, trust, exec, remove],
};
