import type { Command, Verbs } from "./command.js";

/** A noun in the list of nouns. Its verbs are imported only when the command line names it, to keep start-up fast. */
export interface CatalogEntry {
  name: string;
  summary: string;
  verbs: () => Promise<Verbs>;
}

const noun = (name: string, summary: string, verbs: () => Promise<Verbs>): CatalogEntry => ({ name, summary, verbs });

/** A noun that is itself a command, such as `clm ps`. */
const verbless = (name: string, summary: string, load: () => Promise<Command>): CatalogEntry =>
  noun(name, summary, async () => ({ commands: [await load()] }));

/** Every noun, in the order help shows them. */
export const catalog: readonly CatalogEntry[] = [
  verbless("init", "create the config directory and an SSH key", () =>
    import("./init/commands.js").then((m) => m.init),
  ),
  noun("host", "hosts that agents run on", () => import("./host/commands.js").then((m) => m.host)),
  noun("agent", "agents on your hosts", () => import("./agent/commands.js").then((m) => m.agent)),
  verbless("ps", "show the live status of every agent", () => import("./ps/commands.js").then((m) => m.ps)),
  verbless("diff", "show configuration drift in the fleet", () => import("./diff/commands.js").then((m) => m.diff)),
  verbless("chat", "chat with an agent", () => import("./chat/commands.js").then((m) => m.chat)),
  verbless("handoff", "move a conversation to another agent", () =>
    import("./handoff/commands.js").then((m) => m.handoff),
  ),
  verbless("tunnel", "forward an agent's API to this machine", () =>
    import("./tunnel/commands.js").then((m) => m.tunnel),
  ),
  noun("gateway", "one OpenAI-compatible API for every agent, with its own keys", () =>
    import("./gateway/commands.js").then((m) => m.gateway),
  ),
  verbless("doctor", "diagnose this machine, hosts and agents, and fix what is safe to fix", () =>
    import("./doctor/commands.js").then((m) => m.doctor),
  ),
  noun("provider", "model providers", () => import("./provider/commands.js").then((m) => m.provider)),
  noun("registry", "installable agent versions and their pins", () =>
    import("./registry/commands.js").then((m) => m.registry),
  ),
  noun("lab", "throw-away hosts on this machine, for trying and testing", () =>
    import("./lab/commands.js").then((m) => m.lab),
  ),
  noun("import", "import the fleet of another tool", () => import("./import/commands.js").then((m) => m.importing)),
  verbless("audit", "show what was changed, when and by whom", () =>
    import("./audit/commands.js").then((m) => m.audit),
  ),
  verbless("completion", "print the completion script for your shell", () =>
    import("./completion/commands.js").then((m) => m.completion),
  ),
  verbless("version", "print the version of clm", () => import("./version/commands.js").then((m) => m.version)),
];
