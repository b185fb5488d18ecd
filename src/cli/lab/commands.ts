// Loaded at every start, so only what is light: the shape, not the door of lab/.
import { maxHosts, releases } from "../../lab/types.js";
import { choice, command, commandLine, flag, number, required, text, type Verbs } from "../command.js";

const name = text("LAB", "which lab", { completes: "lab", default: "lab" });

export const up = command({
  path: "lab up",
  summary: "make throw-away hosts on this machine",
  description: `Gives you real Debian hosts (systemd, sshd, sudo, an address of their own) without a spare machine, and adds them to the
fleet as LAB-1, LAB-2 and so on. The base system is made once, which takes about half a minute, and kept.
Running it again changes nothing; with a larger --hosts it adds what is missing. Needs root.`,
  options: {
    hosts: number("N", "how many hosts", { min: 1, max: maxHosts, default: 1 }),
    release: choice("RELEASE", releases, "Debian release of the hosts", { default: "bookworm" }),
    name,
    internet: flag("let the hosts reach the internet through this machine"),
  },
  formats: ["table", "json", "yaml", "name"],
  mutates: true,
  examples: [
    { run: "clm lab up" },
    { run: "clm lab up --hosts 3 && clm host exec 'lab-*' -- uname -a" },
    { run: "clm lab up --name try --release trixie --internet", note: "a second lab beside the first" },
  ],
  load: () => import("./up.js"),
});

export const down = command({
  path: "lab down",
  summary: "remove a lab and everything it made",
  description: `Asks nothing: a lab is there to be thrown away. Also cleans up after a lab that was killed half-way. The base
system is kept for the next time. Needs root.`,
  options: { name, all: flag("every lab on this machine, and hosts of labs that are gone from it") },
  formats: ["table", "json", "yaml", "name"],
  mutates: true,
  examples: [{ run: "clm lab down" }, { run: "clm lab down --name try" }, { run: "clm lab down --all -o json" }],
  load: () => import("./down.js"),
});

export const status = command({
  path: "lab status",
  summary: "show the labs on this machine and whether their hosts are up",
  options: { name: text("LAB", "only this lab", { completes: "lab" }) },
  formats: ["table", "json", "yaml", "name"],
  examples: [{ run: "clm lab status" }, { run: "clm lab status -o json" }],
  load: () => import("./status.js"),
});

export const exec = command({
  path: "lab exec",
  summary: "run a command as root inside a lab host, without SSH",
  description: `For looking at a lab host whose SSH does not work, and for breaking one on purpose. Ends with the command's own exit
code. It is not written to the audit log. To run something as a fleet would, use clm host exec. Needs root.`,
  args: { host: required("the lab host", "lab-host"), command: commandLine("what to run there") },
  examples: [{ run: "clm lab exec lab-1 -- systemctl status ssh" }],
  load: () => import("./exec.js"),
});

export const lab: Verbs = {
  commands: [up, down, status, exec],
};
