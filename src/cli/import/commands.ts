import { command, flag, list, text, type Verbs } from "../command.js";
import { sudo } from "../recurring.js";

export const clawrium = command({
  path: "import clawrium",
  summary: "take over a fleet from Clawrium",
  description: `Reads Clawrium's hosts, agents, providers, channels, integrations, secrets and keys, shows what becomes of each, asks, keeps a
copy of everything that was there, and takes it over as a whole or not at all. Clawrium and clm use the same directory unless
they are told otherwise; then its files are replaced. A file that is broken is named and nothing is changed.

Each host is called, and its key is shown unless your known_hosts vouches for it. A host that does not answer is taken over too,
and trusted once you say so with clm host trust. Then each agent is looked at on its host, and what differs from what clm would
have there is listed, with the command that puts it right. Nothing is changed on any host.

Agents that are not Hermes, installations that never ended and providers that clm does not know are listed and left out.`,
  options: {
    from: text("DIR", "Clawrium's directory (default: its own, usually ~/.config/clawrium)", {
      completes: "directory",
    }),
    host: list("OLD=NAME", "call the host OLD from now on NAME (repeatable)"),
    acceptNew: flag("trust the keys the hosts show, without asking"),
    noCheck: flag("call no host; compare nothing"),
    ...sudo,
  },
  formats: ["table", "json", "yaml"],
  mutates: true,
  examples: [
    { run: "clm import clawrium --dry-run", note: "see what would become of it" },
    { run: "clm import clawrium" },
    { run: "clm import clawrium --from /mnt/old/clawrium --host 192.168.1.20=wolf-i --yes" },
  ],
  load: () => import("./clawrium.js"),
});

export const importing: Verbs = {
  commands: [clawrium],
};
