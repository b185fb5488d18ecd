import { auditNoun } from "./audit/commands.js";
import type { Noun, Verbs } from "./command.js";
import { completionNoun } from "./completion/commands.js";
import { initNoun } from "./init/commands.js";
import { versionNoun } from "./version/commands.js";

/** A noun in the list of nouns. Its verbs are imported only when the command line names it, to keep start-up fast. */
export interface CatalogEntry {
  name: string;
  summary: string;
  verbs: () => Promise<Verbs>;
}

/** Every noun, in the order help shows them. A noun whose only command has the same path takes no verb. */
export const catalog: readonly CatalogEntry[] = [
  loaded(initNoun),
  {
    name: "host",
    summary: "hosts that agents run on",
    verbs: async () => (await import("./host/commands.js")).host,
  },
  {
    name: "agent",
    summary: "agents on your hosts",
    verbs: async () => (await import("./agent/commands.js")).agent,
  },
  {
    name: "ps",
    summary: "show the live status of every agent",
    verbs: async () => (await import("./ps/commands.js")).psNoun,
  },
  {
    name: "diff",
    summary: "show configuration drift in the fleet",
    verbs: async () => (await import("./diff/commands.js")).diffNoun,
  },
  {
    name: "chat",
    summary: "chat with an agent",
    verbs: async () => (await import("./chat/commands.js")).chatNoun,
  },
  {
    name: "handoff",
    summary: "move a conversation to another agent",
    verbs: async () => (await import("./handoff/commands.js")).handoffNoun,
  },
  {
    name: "tunnel",
    summary: "forward an agent's API to this machine",
    verbs: async () => (await import("./tunnel/commands.js")).tunnelNoun,
  },
  {
    name: "gateway",
    summary: "one OpenAI-compatible API for every agent, with its own keys",
    verbs: async () => (await import("./gateway/commands.js")).gateway,
  },
  {
    name: "doctor",
    summary: "diagnose this machine, hosts and agents, and fix what is safe to fix",
    verbs: async () => (await import("./doctor/commands.js")).doctorNoun,
  },
  {
    name: "provider",
    summary: "model providers",
    verbs: async () => (await import("./provider/commands.js")).provider,
  },
  {
    name: "registry",
    summary: "installable agent versions and their pins",
    verbs: async () => (await import("./registry/commands.js")).registry,
  },
  {
    name: "lab",
    summary: "throw-away hosts on this machine, for trying and testing",
    verbs: async () => (await import("./lab/commands.js")).lab,
  },
  {
    name: "import",
    summary: "import the fleet of another tool",
    verbs: async () => (await import("./import/commands.js")).importing,
  },
  loaded(auditNoun),
  loaded(completionNoun),
  loaded(versionNoun),
];

function loaded(noun: Noun): CatalogEntry {
  return { ...noun, verbs: async () => noun };
}
