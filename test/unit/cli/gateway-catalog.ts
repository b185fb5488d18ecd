import { key, usage } from "../../../src/cli/gateway/keys/commands.js";

/** The gateway's keys and usage alone. */
export const catalog = [
  { name: "gateway", summary: "one door to the fleet", verbs: async () => ({ commands: [usage], nouns: [key] }) },
];
