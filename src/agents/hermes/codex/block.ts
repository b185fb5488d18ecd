import { type TomlTable, tomlKey, tomlValue } from "../../files/toml.js";

/** The lines around what Hermes writes to config.toml, as it writes them: so each finds what the other left. */
export const opening = "# managed by hermes-agent — `hermes codex-runtime migrate` regenerates this section";
export const closing = "# end hermes-agent managed section";
export const nothingInIt = "# (no MCP servers, plugins, or permissions configured by Hermes)";

/** A plugin of Codex's own that is there to be used. */
export interface Plugin {
  name: string;
  marketplace: string;
  enabled: boolean;
}

export interface Block {
  /** The name of a permission profile; nothing leaves it to Codex, or to the user. */
  permissions?: string | undefined;
  servers: ReadonlyMap<string, TomlTable>;
  plugins: readonly Plugin[];
  additions: Additions;
}

/** What Codex added below tables of the block, by their headers. It is kept as it is. */
export type Additions = ReadonlyMap<string, string>;

export const headerOf = (...path: string[]): string => `[${path.map(tomlKey).join(".")}]`;

export const titleOfPlugin = ({ name, marketplace }: Plugin): string => `${name}@${marketplace}`;

/** The block in the order in which Hermes writes it, so that one of the two changes nothing that the other wrote. */
export function blockText({ permissions, servers, plugins, additions }: Block): string {
  const tables: [string, TomlTable][] = [
    ...sorted([...servers], ([name]) => name).map(([name, table]): [string, TomlTable] => [
      headerOf("mcp_servers", name),
      table,
    ]),
    ...sorted([...plugins], titleOfPlugin).map((plugin): [string, TomlTable] => [
      headerOf("plugins", titleOfPlugin(plugin)),
      new Map([["enabled", plugin.enabled]]),
    ]),
  ];
  const parts = [
    ...(permissions === undefined ? [] : [`default_permissions = ${tomlValue(permissions)}`]),
    ...tables.flatMap(([header, table]) => [tableText(header, table), additions.get(header)?.trimEnd() ?? []].flat()),
  ];
  if (parts.length === 0) {
    return `${[opening, nothingInIt, closing].join("\n")}\n`;
  }
  return `${[opening, ...parts, closing].join("\n\n")}\n`;
}

const tableText = (header: string, table: TomlTable): string =>
  [header, ...[...table].map(([key, value]) => `${tomlKey(key)} = ${tomlValue(value)}`)].join("\n");

const sorted = <T>(items: T[], by: (item: T) => string): T[] =>
  items.sort((a, b) => (by(a) < by(b) ? -1 : by(a) > by(b) ? 1 : 0));
