import { auditNoun } from "./audit/commands.js";
import type { Noun, Verbs } from "./command.js";
import { completionNoun } from "./completion/commands.js";
import { initNoun } from "./init/commands.js";
import { versionNoun } from "./version/commands.js";

/** A noun as the list of nouns has it. Its verbs are read when a line names it: every start pays for what it reads. */
export interface Entry {
  name: string;
  summary: string;
  verbs: () => Promise<Verbs>;
}

/** Everything clm can be asked, in the order help shows it. A noun whose one command has its name takes no verb. */
export const catalog: readonly Entry[] = [
  atHand(initNoun),
  {
    name: "host",
    summary: "machines that agents live on",
    verbs: async () => (await import("./host/commands.js")).host,
  },
  {
    name: "agent",
    summary: "agents that live on your hosts",
    verbs: async () => (await import("./agent/commands.js")).agent,
  },
  {
    name: "ps",
    summary: "show how every agent is, as its host tells it now",
    verbs: async () => (await import("./ps/commands.js")).psNoun,
  },
  {
    name: "diff",
    summary: "show what in the fleet is not as it was configured",
    verbs: async () => (await import("./diff/commands.js")).diffNoun,
  },
  {
    name: "chat",
    summary: "talk with an agent",
    verbs: async () => (await import("./chat/commands.js")).chatNoun,
  },
  {
    name: "handoff",
    summary: "hand a conversation over to another agent",
    verbs: async () => (await import("./handoff/commands.js")).handoffNoun,
  },
  {
    name: "tunnel",
    summary: "reach an agent's API from this machine",
    verbs: async () => (await import("./tunnel/commands.js")).tunnelNoun,
  },
  {
    name: "gateway",
    summary: "one OpenAI-compatible door to every agent, with keys of its own",
    verbs: async () => (await import("./gateway/commands.js")).gateway,
  },
  {
    name: "doctor",
    summary: "find what is wrong with everything, and mend what is safe",
    verbs: async () => (await import("./doctor/commands.js")).doctorNoun,
  },
  {
    name: "provider",
    summary: "services that answer for models",
    verbs: async () => (await import("./provider/commands.js")).provider,
  },
  {
    name: "registry",
    summary: "agent versions that can be installed, and their pins",
    verbs: async () => (await import("./registry/commands.js")).registry,
  },
  {
    name: "lab",
    summary: "throw-away hosts on this machine, to try and to test",
    verbs: async () => (await import("./lab/commands.js")).lab,
  },
  {
    name: "import",
    summary: "take over what another tool set up",
    verbs: async () => (await import("./import/commands.js")).importing,
  },
  atHand(auditNoun),
  atHand(completionNoun),
  atHand(versionNoun),
];

function atHand(noun: Noun): Entry {
  return { ...noun, verbs: async () => noun };
}
