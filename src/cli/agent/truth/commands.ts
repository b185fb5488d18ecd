import { type Command, command } from "../../command.js";
import { agentNames, choosing, pacing, sudo } from "../../recurring.js";

const formats = ["table", "json", "yaml", "name"] as const;

export const diff = command({
  path: "agent diff",
  summary: "show in what agents are not as they were configured",
  description: `Looks at the account, the directories, .env, config.yaml and the unit of each agent on its host, with the very operations
that 'clm agent configure' makes them with, and changes nothing. Of .env only names and fingerprints are shown; a fingerprint is made
anew for every run, so that nobody can find out by it what the value is. Of config.yaml only what clm put there counts.

Exits with 0 when nothing differs, with 3 when something does, and with another code when that cannot be told of an agent. An agent
that was stopped with 'clm agent stop' should be down; of one that is not ready only files are compared.`,
  args: { names: agentNames },
  options: { ...choosing, parallel: pacing.parallel, ...sudo },
  formats,
  examples: [
    { run: "clm agent diff hermes-test" },
    { run: "clm agent diff 'web-*' -o json | jq '.[] | select(.result!=\"same\")'" },
  ],
  load: () => import("./diff.js"),
});

export const sync = command({
  path: "agent sync",
  summary: "make agents as they were configured again, and prove it",
  description: `Puts right what 'clm agent diff' shows, restarts an agent when what it is told or its unit has changed, and proves that it
answers. The same command again changes nothing and restarts nothing. A model is asked only when .env or config.yaml were not as they
should be. An agent that was stopped with 'clm agent stop' stays down.

What clm does not look after is not touched: own settings in config.yaml, memories, whatever is in the agent's home. But .env and
the unit are clm's alone: variables that somebody else put into .env go, and so do drop-ins and other files that override the unit
of just this agent. --dry-run shows what would go.`,
  args: { names: agentNames },
  options: { ...choosing, ...pacing, ...sudo },
  formats,
  mutates: true,
  examples: [
    { run: "clm agent sync hermes-test" },
    { run: "clm agent sync hermes-test --dry-run", note: "only tell what would change" },
    { run: "clm agent sync --all" },
  ],
  load: () => import("./sync.js"),
});

/** Whether an agent is as it was configured, and making it so. */
export const truth: Command[] = [diff, sync];
