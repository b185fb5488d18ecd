import { command, flag, list, text } from "../command.js";
import { changesOne, sudoOption } from "../shared-options.js";

export const clawrium = command({
  path: "import clawrium",
  summary: "import a fleet from Clawrium",
  description: `Reads Clawrium's hosts, agents, providers, channels, integrations, secrets and keys, shows what each
becomes, asks, backs up every existing file, and imports all or nothing. By default Clawrium and clm use the same
directory; then Clawrium's files are replaced. When a file cannot be read, clm names it and changes nothing.

Each host is contacted, and its key is shown unless your known_hosts file contains it. An unreachable host is imported
too; trust its key later with clm host trust. Then each agent is compared on its host with what clm would configure,
and the differences are listed with the command that repairs them. Nothing is changed on any host.

Agents that are not Hermes, incomplete installations and unknown providers are listed and skipped.`,
  options: {
    from: text("DIR", "Clawrium's directory (default: usually ~/.config/clawrium)", {
      completes: "directory",
    }),
    host: list("OLD=NAME", "rename the host OLD to NAME (repeatable)"),
    acceptNew: flag("trust the hosts' keys without asking"),
    noCheck: flag("contact no host and compare nothing"),
    ...sudoOption,
  },
  ...changesOne,
  examples: [
    "clm import clawrium --dry-run   # only show what would be imported",
    "clm import clawrium",
    "clm import clawrium --from /mnt/old/clawrium --host 192.168.1.20=wolf-i --yes",
  ],
  load: () => import("./clawrium.js"),
});

export const importing = {
  commands: [clawrium],
};
