import { Fault } from "../../../errors.js";
import type { TomlTable } from "../../files/toml.js";
import { blockText, type Plugin, titleOfPlugin } from "./block.js";
import { type Ours, type UsersPart, usersPart, withBlock } from "./managed.js";
import { type Setting, translate, type Variables } from "./servers.js";

/** Hermes as an MCP server, by which Codex gets the tools it has not. */
export const callback = "hermes-tools";

export interface Wanted {
  /** `mcp_servers` of config.yaml. */
  servers: Setting | undefined;
  variables: Variables;
  permissions: string | undefined;
  plugins: readonly Plugin[];
  /** Servers that Codex was given before, where that is known. */
  former?: readonly string[] | undefined;
  /** How Hermes is called back, if it is. */
  callback?: TomlTable | undefined;
}

export interface Migrated {
  /** All of config.toml. */
  text: string;
  servers: string[];
  /** Those that Codex does not get, and why. */
  skipped: Record<string, string>;
  /** Those of them to which a person has to log in before they work. */
  logins: string[];
  /** Seconds that the slowest of them may take to start, as far as that was said. */
  timeout: number;
  plugins: string[];
  /** The permission profile that holds by default: the user's own where there is one. */
  permissions?: string;
  /** What is not as somebody may expect. */
  notes: string[];
}

/** Hermes' MCP servers, Codex's plugins and a permission profile in Codex's config.toml. What the user has there stays, and counts. */
export function migrate(existing: string | undefined, wanted: Wanted): Migrated {
  const notes: string[] = [];
  const servers = new Map<string, TomlTable>();
  const skipped: Record<string, string> = {};
  const logins: string[] = [];
  for (const [name, setting] of serversIn(wanted.servers, notes)) {
    const { server, notes: said } = translate(name, setting, wanted.variables);
    if (server) servers.set(name, server);
    else skipped[name] = said.join("; ");
    if (server && setting instanceof Map && (setting.has("auth") || setting.has("oauth"))) logins.push(name);
    notes.push(...said.map((each) => (server ? `${name}: ${each}` : `server '${name}' skipped: ${each}`)));
  }
  if (wanted.callback) {
    if (servers.has(callback))
      notes.push(`server '${callback}' of config.yaml gives way: Hermes itself goes by that name`);
    servers.set(callback, wanted.callback);
  }

  const plugged = new Set(wanted.plugins.map(titleOfPlugin));
  const users = usersPart(existing ?? "", {
    server: (name) => servers.has(name) || name === callback || wanted.former?.includes(name) === true,
    plugin: (title) => plugged.has(title),
    whole: wanted.former !== undefined,
  });
  mustBeOpen(users);
  notes.push(
    ...[...users.unsure].map((name) => `server '${name}' is kept: it is not in config.yaml, and may be yours`),
  );
  notes.push(...lostIn(users, (name) => servers.has(name)));
  for (const name of ownBelow(users, "mcp_servers")) {
    if (servers.delete(name)) notes.push(`server '${name}' is your own in config.toml, and stays as it is there`);
  }
  const theirs = ownBelow(users, "plugins");
  const plugins = wanted.plugins.filter((plugin) => !theirs.has(titleOfPlugin(plugin)));
  const own = users.outline.paths.find(({ path }) => path.length === 1 && path[0] === "default_permissions");
  if (own && own.text !== wanted.permissions) notes.push("default_permissions is your own in config.toml, and counts");

  const permissions = own ? own.text : wanted.permissions;
  const { additions } = users;
  const block = blockText({ permissions: own ? undefined : wanted.permissions, servers, plugins, additions });
  return {
    text: withBlock(users, block),
    servers: [...servers.keys()].sort(),
    skipped,
    logins,
    timeout: Math.max(0, ...[...servers.values()].map((table) => Number(table.get("startup_timeout_sec") ?? 0))),
    plugins: wanted.plugins.map(titleOfPlugin).sort(),
    ...(permissions !== undefined && { permissions }),
    notes,
  };
}

export interface Unmigrated {
  /** Nothing when nothing is left. */
  text?: string;
  notes: string[];
}

/** config.toml without the block. */
export function unmigrate(existing: string, ours: Ours): Unmigrated {
  const users = usersPart(existing, ours);
  const text = `${users.mark}${users.text}`;
  return { ...(text.trim() === "" && text !== existing ? {} : { text }), notes: lostIn(users, ours.server) };
}

/** A block may have had more than Hermes has now. */
const lostIn = ({ dropped }: UsersPart, isOurs: (server: string) => boolean): string[] =>
  [...dropped]
    .filter((name) => !isOurs(name) && name !== callback)
    .map((name) => `server '${name}' goes: it is not in config.yaml`);

function serversIn(setting: Setting | undefined, notes: string[]): Iterable<[string, Setting]> {
  if (setting instanceof Map) return setting;
  const isNothing = setting === undefined || ("value" in setting && setting.value === null);
  if (!isNothing) notes.push("mcp_servers in config.yaml is not a map: none of it was migrated");
  return [];
}

/**
 * What the user's own text has right below a table, however it is written: it cannot be written a second time. What may be done
 * with a server's tools has a table of its own, which is no server yet.
 */
const ownBelow = ({ outline }: UsersPart, table: string): Set<string> =>
  new Set(
    outline.paths.flatMap(({ path: [first, second, third], below }) =>
      first !== table || second === undefined || (third === "tools" && below > 2) ? [] : second,
    ),
  );

/** Nothing can be added to a table that is written as a value. */
function mustBeOpen({ outline }: UsersPart): void {
  const closed = outline.paths.find(({ kind, path }) => kind !== "table" && path.length === 1 && isTable(path[0]));
  if (!closed) return;
  const name = closed.path.join(".");
  throw new Fault("bad-input", `config.toml on the host has ${name} in one piece, and nothing can be added to that`, {
    why: `write it as tables, as in [${name}.NAME]`,
    data: { key: name },
  });
}

const isTable = (name: string | undefined): boolean => name === "mcp_servers" || name === "plugins";
