import { Fault } from "../../../errors.js";
import { absent, dir, file, type Operation } from "../../../remote/operations/operation.js";
import { Secret } from "../../../secret.js";
import { withItsRights } from "../../plan/as-agent.js";
import { environmentOf } from "../../plan/environment.js";
import type { Rendering, ResolvedAgent } from "../../plan/resolved-agent.js";
import type { SeenText } from "../../probe/proof/observation.js";
import { type Migrated, migrate } from "./migration.js";
import { type Mind, mirrored, unmirrored } from "./mirror.js";
import { callbackOf, codexPlaces, codexTypeOf, runsOnCodex } from "./runtime.js";
import type { Variables } from "./servers.js";
import { settingIn } from "./settings.js";

/** A file of Codex' own that others write to as well. */
export interface CodexFile {
  path: string;
  /** Nothing when there was none. */
  before?: string;
  /** Nothing when it is to go. */
  text?: string;
}

/** Codex' files for an agent, as they should be. */
export interface CodexFiles {
  config: CodexFile & { text: string };
  /** Only when it has, or is to have, what Codex is told of the agent. */
  agents?: CodexFile;
  migrated: Migrated;
}

/** What the agent's own two files say, and what was seen on the host. */
export interface Sources {
  rendering: Rendering;
  /** config.yaml, as it should be. */
  config: string;
  texts: Record<string, SeenText>;
  /** Servers that Codex was given before, where that is known. */
  former: readonly string[] | undefined;
}

/** Nothing of an agent that does not run on Codex. */
export function codexFiles(
  agent: ResolvedAgent,
  { rendering, config, texts, former }: Sources,
): CodexFiles | undefined {
  const { runtime } = agent;
  if (!runtime || !runsOnCodex(agent)) return undefined;
  const type = codexTypeOf(agent);
  const paths = codexPlaces(agent);
  const read = (name: keyof typeof paths): string | undefined => {
    const seen = texts[name];
    // What nobody looked at must not be taken for what is not there.
    if (!seen) throw new Fault("bug", `${paths[name]} was not looked at`);
    if (seen.there && seen.text === undefined) throw unreadable(agent, paths[name]);
    return seen.text;
  };
  const before = read("codex_config");
  const migrated = migrate(before, {
    servers: settingIn(config, "mcp_servers"),
    variables: variablesOf(agent, rendering),
    permissions: runtime.permissions,
    plugins: runtime.plugins,
    former,
    callback: callbackOf(agent, type),
  });
  const was = (text: string | undefined) => (text === undefined ? {} : { before: text });
  const file = { path: paths.codex_config, ...was(before), text: migrated.text };
  const agents = read("codex_agents");
  const told = runtime.mirror ? mirrored(agents, mindOf(agent, read)) : agents && unmirrored(agents);
  if (told === agents) return { config: file, migrated };
  const mind = { path: paths.codex_agents, ...was(agents), ...(told !== undefined && { text: told }) };
  return { config: file, agents: mind, migrated };
}

const mindOf = ({ name }: ResolvedAgent, read: (file: "soul" | "memory" | "user") => string | undefined): Mind => ({
  name,
  soul: read("soul") ?? "",
  memory: read("memory") ?? "",
  user: read("user") ?? "",
});

/** What stands for something in config.yaml: all that the service has in its environment. */
function variablesOf(agent: ResolvedAgent, { env }: Rendering): Variables {
  const open = new Map(Object.entries(environmentOf(agent)));
  const secret = new Map<string, Secret>();
  for (const [name, value] of env) {
    if (value instanceof Secret) secret.set(name, value);
    else open.set(name, value);
  }
  return { open, secret };
}

/** Whatever is in it would be lost. */
export const unreadable = (whose: Pick<ResolvedAgent, "host" | "user">, path: string): Fault =>
  new Fault("remote-failed", `${path} on ${whose.host} is there and cannot be read`, {
    why: "it is a link, no text, or larger than such a file should be",
    next: withItsRights(whose, ["ls", "-la", path]),
    data: { path },
  });

/** What puts them there. Both are read when Codex begins; only what it does is worth a restart of the agent. */
export function codexWish({ user: owner, runtime, unit }: ResolvedAgent, files: CodexFiles): Operation[] {
  if (!runtime) return [];
  const closed = { owner, mode: 0o600 };
  const { config, agents } = files;
  return [
    dir(runtime.home, { owner, mode: 0o700 }),
    file(config.path, { ...closed, content: config.text, restarts: unit }),
    ...(agents?.text !== undefined ? [file(agents.path, { ...closed, content: agents.text })] : []),
    ...(agents && agents.text === undefined ? [absent({ path: agents.path })] : []),
  ];
}
