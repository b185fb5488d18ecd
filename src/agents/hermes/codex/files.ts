import { Secret } from "../../../secret.js";
import { environmentOf } from "../../plan/environment.js";
import type { Derived, ManagedFile, Sources } from "../../plan/managed-file.js";
import type { Plan } from "../../plan/plan.js";
import type { ResolvedAgent } from "../../plan/resolved-agent.js";
import { type RuntimeRecord, runtimeTypeOf } from "../../plan/runtime.js";
import { type Migrated, migrate } from "./migration.js";
import { type Mind, mirrored, unmirrored } from "./mirror.js";
import { callbackOf, codexPlaces, runsOnCodex } from "./runtime.js";
import type { Variables } from "./servers.js";
import { settingIn } from "./settings.js";

export const configId = "codex";
export const agentsId = "codex_agents";

/** None when the agent runs its turns itself. `env` are the variables of the service's `.env`. */
export function codexFiles(agent: ResolvedAgent, env: ReadonlyMap<string, string | Secret>): ManagedFile[] {
  const { runtime } = agent;
  if (!runtime || !runsOnCodex(agent)) return [];
  const { config, agents, ...mind } = codexPlaces(agent);
  const closed = { mode: 0o600, directories: [runtime.home] };
  return [
    {
      id: configId,
      path: config,
      ...closed,
      restarts: true,
      content: { merge: "derived", reads: {}, derive: (sources) => codexConfig(agent, runtime, env, sources) },
    },
    {
      id: agentsId,
      path: agents,
      ...closed,
      // Codex reads it whenever a session begins.
      restarts: false,
      content: {
        merge: "derived",
        reads: runtime.mirror ? mind : {},
        derive: ({ read }) => codexAgents(agent, runtime, read),
      },
    },
  ];
}

function codexConfig(
  agent: ResolvedAgent,
  { permissions, plugins }: RuntimeRecord,
  env: ReadonlyMap<string, string | Secret>,
  { read, planned, owned }: Sources,
): Derived {
  const migrated = migrate(read(configId), {
    servers: settingIn(planned("config"), "mcp_servers"),
    variables: variablesOf(agent, env),
    permissions,
    plugins,
    former: owned,
    callback: callbackOf(agent, runtimeTypeOf(agent, "codex")),
  });
  const { text, servers, notes } = migrated;
  return { text, owned: servers, notes, made: migrated };
}

/** AGENTS.md with the agent's identity and memory, if configured. */
function codexAgents(agent: ResolvedAgent, { mirror }: RuntimeRecord, read: Sources["read"]): Derived {
  const before = read(agentsId);
  const text = mirror ? mirrored(before, mindOf(agent, read)) : before && unmirrored(before);
  return { text, leave: text === before };
}

const mindOf = ({ name }: ResolvedAgent, read: Sources["read"]): Mind => ({
  name,
  soul: read("soul") ?? "",
  memory: read("memory") ?? "",
  user: read("user") ?? "",
});

/** The values that a reference in config.yaml can name: the service's environment. */
function variablesOf(agent: ResolvedAgent, env: ReadonlyMap<string, string | Secret>): Variables {
  const open = new Map(Object.entries(environmentOf(agent)));
  const secret = new Map<string, Secret>();
  for (const [name, value] of env) {
    if (value instanceof Secret) secret.set(name, value);
    else open.set(name, value);
  }
  return { open, secret };
}

export const migratedIn = ({ files }: Pick<Plan, "files">): Migrated | undefined =>
  files.find(({ file }) => file.id === configId)?.made as Migrated | undefined;
