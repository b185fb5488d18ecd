import { Fault } from "../../../errors.js";
import type { TomlTable } from "../../files/toml.js";
import { blockText, type Plugin, tablesOfHermes, titleOfPlugin } from "./block.js";
import { type Setting, translate, type Variables } from "./mcp-servers.js";
import { textOf } from "./toml-pieces.js";
import { type Ours, type UsersPart, usersPart, withBlock } from "./users-part.js";

/** Hermes as an MCP server of Codex, for the tools that Codex lacks. */
export const callback = "hermes-tools";

export interface ConfigTomlInput {
  /** `mcp_servers` of config.yaml. */
  servers: Setting | undefined;
  variables: Variables;
  permissions: string | undefined;
  plugins: readonly Plugin[];
  /** Servers written before, if known. */
  former?: readonly string[] | undefined;
  callback?: TomlTable | undefined;
}

export type MergedConfigToml = ReturnType<typeof mergeConfigToml>;

/** Writes Hermes' MCP servers, plugins and a permission profile to config.toml. The user's own settings stay and take precedence. */
export function mergeConfigToml(existing: string | undefined, input: ConfigTomlInput) {
  const notes: string[] = [];
  const servers = new Map<string, TomlTable>();
  /** Servers that Codex does not get, with the reason. */
  const skipped: Record<string, string> = {};
  /** Servers that need a login by a person. */
  const logins: string[] = [];
  for (const [name, setting] of serversIn(input.servers, notes)) {
    const { server, notes: remarks } = translate(name, setting, input.variables);
    if (server) servers.set(name, server);
    else skipped[name] = remarks.join("; ");
    if (server && setting instanceof Map && (setting.has("auth") || setting.has("oauth"))) logins.push(name);
    notes.push(...remarks.map((each) => (server ? `${name}: ${each}` : `server '${name}' skipped: ${each}`)));
  }
  if (input.callback) {
    if (servers.has(callback)) notes.push(`server '${callback}' of config.yaml is left out: Hermes reserves that name`);
    servers.set(callback, input.callback);
  }

  const plugged = new Set(input.plugins.map(titleOfPlugin));
  const users = usersPart(existing ?? "", {
    server: (name) => servers.has(name) || name === callback || input.former?.includes(name) === true,
    plugin: (title) => plugged.has(title),
    whole: input.former !== undefined,
  });
  mustBeOpen(users);
  for (const name of users.unsure) notes.push(`server '${name}' is kept: it is not in config.yaml, and may be yours`);
  notes.push(...lostIn(users, (name) => servers.has(name)));
  for (const name of ownBelow(users, "mcp_servers")) {
    if (servers.delete(name)) notes.push(`server '${name}' is your own in config.toml, and stays as it is there`);
  }
  const theirs = ownBelow(users, "plugins");
  const plugins = input.plugins.filter((plugin) => !theirs.has(titleOfPlugin(plugin)));
  const own = users.pieces.find(({ path }) => path.length === 1 && path[0] === "default_permissions");
  if (own && own.value !== input.permissions)
    notes.push("default_permissions is your own in config.toml, and takes precedence");

  const permissions = own ? undefined : input.permissions;
  const block = blockText({ permissions, servers, plugins, additions: users.additions });
  return {
    text: withBlock(users, block),
    servers: [...servers.keys()].sort(),
    skipped,
    logins,
    /** The longest start timeout that is configured, in seconds. */
    timeout: Math.max(0, ...[...servers.values()].map((table) => Number(table.get("startup_timeout_sec") ?? 0))),
    /** The default permission profile: the user's own if there is one. */
    permissions: own ? own.value : input.permissions,
    notes,
  };
}

/** The text is undefined when nothing is left. */
export function removeOurs(existing: string, ours: Ours): { text: string | undefined; notes: string[] } {
  const users = usersPart(existing, ours);
  const text = `${users.mark}${textOf(users.pieces)}`;
  const isGone = text.trim() === "" && text !== existing;
  return { text: isGone ? undefined : text, notes: lostIn(users, ours.server) };
}

const lostIn = ({ dropped }: UsersPart, isOurs: (server: string) => boolean): string[] =>
  [...dropped]
    .filter((name) => !isOurs(name) && name !== callback)
    .map((name) => `server '${name}' is removed: it is not in config.yaml`);

function serversIn(setting: Setting | undefined, notes: string[]): Iterable<[string, Setting]> {
  if (setting instanceof Map) return setting;
  const isNothing = setting === undefined || ("value" in setting && setting.value === null);
  if (!isNothing) notes.push("mcp_servers in config.yaml is not a map: none of it was migrated");
  return [];
}

/** The user's names below a table, in any notation: TOML forbids duplicates. Permissions alone do not make a server. */
const ownBelow = ({ pieces }: UsersPart, table: string): Set<string> =>
  new Set(
    pieces.flatMap(({ path: [first, second, third], header }) =>
      first !== table || second === undefined || (third === "tools" && header > 2) ? [] : second,
    ),
  );

/** An inline table cannot be extended. */
function mustBeOpen({ pieces }: UsersPart): void {
  const closed = pieces.find(
    ({ kind, path }) => kind !== "table" && path.length === 1 && tablesOfHermes.includes(path[0]),
  );
  if (!closed) return;
  const name = closed.path.join(".");
  throw new Fault("bad-input", `${name} in config.toml on the host is an inline table, which cannot be extended`, {
    why: `rewrite it as [${name}.NAME]`,
    data: { key: name },
  });
}
