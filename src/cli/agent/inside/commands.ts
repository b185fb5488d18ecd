import { type Command, command, commandLine, flag, number } from "../../command.js";
import { agentName, agentNames, choosing, pacing, sudo } from "../../recurring.js";

export const exec = command({
  path: "agent exec",
  summary: "run a command as an agent's user, with its environment",
  description: `Everything after -- is the command and is passed on as it is; a single word is given to a shell, so that '… | …' works. It runs
in the agent's home with the variables that its service has, those of its .env too, in a unit of its own: when it ends, or Ctrl-C is
pressed, or clm is killed, all that it started ends with it. The agent itself is left alone.

Of one agent, what is piped in goes to the command, what it writes comes out as it comes and byte for byte, and clm ends with its exit
code. Several get no input; each one's answer is shown as a block when it is whole, and clm ends with the worst code. Secrets that clm
keeps show as [secret]. A terminal gets text without escape sequences, with which an agent could change what you see; --raw passes
them on. The audit log keeps the program's name and not what it was given.`,
  args: { names: agentNames, command: commandLine("what to run there") },
  options: {
    ...choosing,
    ...pacing,
    raw: flag("also on a terminal: escape sequences and control characters as they come"),
    ...sudo,
  },
  formats: ["table", "json", "yaml"],
  mutates: true,
  examples: [
    { run: "clm agent exec hermes-test -- hermes sessions stats" },
    { run: "clm agent exec hermes-test --raw -- ls --color=always", note: "with its colours" },
    { run: "clm agent exec hermes-test -- 'du -sh ~/.hermes | cut -f1'", note: "one word: a shell reads it" },
    { run: "clm agent exec hermes-test -- tar -cz .hermes/skills > skills.tar.gz" },
    { run: "clm agent exec --all -- hermes --version" },
  ],
  load: () => import("./exec.js"),
});

export const shell = command({
  path: "agent shell",
  summary: "open a shell as an agent's user, with its environment",
  description: `An interactive bash, or sh where there is none, on a terminal on the host: in the agent's home and with the variables that its
service has, although nobody can log in to its account. It ends, with all that was started in it, when you leave it or the connection
is lost. What it shows is not clm's and is shown as it is, secrets too. For scripts there is 'clm agent exec'.`,
  args: { name: agentName },
  options: sudo,
  mutates: true,
  examples: [{ run: "clm agent shell hermes-test" }],
  load: () => import("./shell.js"),
});

export const key = command({
  path: "agent key",
  summary: "print the key of an agent's API",
  description: `For pipes and other commands; no host is contacted. --header prints the whole header, so that curl can read it with -H @- and the
key is nobody's argument: every user of a machine can read the arguments of every process on it. On a terminal, where it would stay
to be seen, --show must say that it is meant. That it was shown is in the audit log.`,
  args: { name: agentName },
  options: {
    header: flag("as the header 'Authorization: Bearer KEY'"),
    show: flag("also on a terminal"),
  },
  mutates: true,
  examples: [
    { run: "clm agent key hermes-test --header | curl -sH @- http://127.0.0.1:8642/v1/models" },
    { run: "clm agent key hermes-test --show" },
  ],
  load: () => import("./key.js"),
});

export const open = command({
  path: "agent open",
  summary: "open an agent's dashboard on this machine",
  description: `Starts the dashboard of the agent on its host, as the agent's user and as closed in as its service, waits until it answers, and opens
a port on 127.0.0.1 here that leads to it through the SSH connection, until Ctrl-C. When clm ends, however it ends, the dashboard on
the host ends too. The agent itself need not be running. When the connection is lost, another dashboard is started: load the page anew.

The dashboard asks nobody for a password: while it is open, whoever has an account on this machine or on the host can use it. The
first time it may take minutes, because some versions build their pages then. With -o json one line is printed for each of open,
lost, waiting, back and closed.`,
  args: { name: agentName },
  options: {
    port: number("PORT", "port here (default: any that is free)", { min: 1, max: 65535 }),
    browser: flag("show it in the browser at once"),
    ...sudo,
  },
  formats: ["table", "json"],
  mutates: true,
  examples: [{ run: "clm agent open hermes-test" }, { run: "clm agent open hermes-test --port 9119 --browser" }],
  load: () => import("./open.js"),
});

/** Ways in: its own account, its key, its pages. */
export const inside: Command[] = [exec, shell, key, open];
