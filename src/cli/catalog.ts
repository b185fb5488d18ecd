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
  verbless("init", "create the config directory and an SSH key", async () => (await import("./init/commands.js")).init),
  noun("host", "hosts that agents run on", async () => (await import("./host/commands.js")).host),
  noun("agent", "agents on your hosts", async () => (await import("./agent/commands.js")).agent),
  verbless("ps", "show the live status of every agent", async () => (await import("./ps/commands.js")).ps),
  verbless("diff", "show configuration drift in the fleet", async () => (await import("./diff/commands.js")).diff),
  verbless("chat", "chat with an agent", async () => (await import("./chat/commands.js")).chat),
  verbless(
    "handoff",
    "move a conversation to another agent",
    async () => (await import("./handoff/commands.js")).handoff,
  ),
  verbless(
    "tunnel",
    "forward an agent's API to this machine",
    async () => (await import("./tunnel/commands.js")).tunnel,
  ),
  noun(
    "gateway",
    "one OpenAI-compatible API for every agent, with its own keys",
    async () => (await import("./gateway/commands.js")).gateway,
  ),
  verbless(
    "doctor",
    "diagnose this machine, hosts and agents, and fix what is safe to fix",
    async () => (await import("./doctor/commands.js")).doctor,
  ),
  noun("provider", "model providers", async () => (await import("./provider/commands.js")).provider),
  noun(
    "registry",
    "installable agent versions and their pins",
    async () => (await import("./registry/commands.js")).registry,
  ),
  noun(
    "lab",
    "throw-away hosts on this machine, for trying and testing",
    async () => (await import("./lab/commands.js")).lab,
  ),
  noun("import", "import the fleet of another tool", async () => (await import("./import/commands.js")).importing),
  verbless("audit", "show what was changed, when and by whom", async () => (await import("./audit/commands.js")).audit),
  verbless(
    "completion",
    "print the completion script for your shell",
    async () => (await import("./completion/commands.js")).completion,
  ),
  verbless("version", "print the version of clm", async () => (await import("./version/commands.js")).version),
];
