// Only lab/types.js: help and completion must not load the lab.
import { maxHosts, releases } from "../../lab/types.js";
import { choice, command, commandLine, flag, number, required, text } from "../command.js";
import { changesNamed } from "../shared-options.js";

const name = text("LAB", "name of the lab", { completes: "lab", default: "lab" });

export const up = command({
  path: "lab up",
  summary: "create throw-away hosts on this machine",
  description: `Creates real Debian hosts (systemd, sshd, sudo, their own addresses) without a spare machine, and adds
them to the fleet as LAB-1, LAB-2 and so on. The base system is built once, which takes about half a minute, and
cached. Running it again changes nothing; with a larger --hosts it adds the missing ones. Needs root.`,
  options: {
    hosts: number("N", "number of hosts", { min: 1, max: maxHosts, default: 1 }),
    release: choice("RELEASE", releases, "Debian release of the hosts", { default: "bookworm" }),
    name,
    internet: flag("let the hosts reach the internet through this machine"),
  },
  ...changesNamed,
  examples: [
    "clm lab up",
    "clm lab up --hosts 3 && clm host exec 'lab-*' -- uname -a",
    "clm lab up --name try --release trixie --internet   # a second lab",
  ],
  load: () => import("./up.js"),
});

export const down = command({
  path: "lab down",
  summary: "remove a lab and everything it created",
  description: `Asks no question: labs are disposable. Also cleans up after a lab command that was killed. The base
system stays cached. Needs root.`,
  options: { name, all: flag("every lab on this machine, and the recorded hosts of labs that no longer exist") },
  ...changesNamed,
  examples: ["clm lab down", "clm lab down --name try", "clm lab down --all -o json"],
  load: () => import("./down.js"),
});

export const status = command({
  path: "lab status",
  summary: "show the labs on this machine and whether their hosts are up",
  options: { name: text("LAB", "only this lab", { completes: "lab" }) },
  formats: ["table", "json", "yaml", "name"],
  examples: ["clm lab status", "clm lab status -o json"],
  load: () => import("./status.js"),
});

export const exec = command({
  path: "lab exec",
  summary: "run a command as root inside a lab host, without SSH",
  description: `For debugging a lab host whose SSH does not work, and for breaking one on purpose. Exits with the
command's exit code. Not recorded in the audit log. To run a command over SSH, use clm host exec. Needs root.`,
  args: { host: required("the lab host", "lab-host"), command: commandLine("the command to run") },
  examples: ["clm lab exec lab-1 -- systemctl status ssh"],
  load: () => import("./exec.js"),
});

export const lab = {
  commands: [up, down, status, exec],
};
