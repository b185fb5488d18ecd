import { type TomlTable, tomlKey, tomlValue } from "../../files/toml.js";

/** Hermes' marker lines in config.toml; clm uses the same, so that each finds the other's block. */
export const opening = "# managed by hermes-agent — `hermes codex-runtime migrate` regenerates this section";
export const closing = "# end hermes-agent managed section";
export const nothingInIt = "# (no MCP servers, plugins, or permissions configured by Hermes)";

export interface Plugin {
  name: string;
  marketplace: string;
  enabled: boolean;
}

export interface Block {
  /** The name of a permission profile; absent to leave it to Codex or the user. */
  permissions?: string | undefined;
  servers: ReadonlyMap<string, TomlTable>;
  plugins: readonly Plugin[];
  additions: Additions;
}

/** Lines that Codex added to tables of the block, by their headers. */
export type Additions = ReadonlyMap<string, string>;
export const headerOf = (...path: string[]): string => `[${path.map(tomlKey).join(".")}]`;
export const titleOfPlugin = ({ name, marketplace }: Plugin): string => `${name}@${marketplace}`;

/** In the order of Hermes, so that neither changes the other's text. */
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
  if (parts.length === 0) return `${[opening, nothingInIt, closing].join("\n")}\n`;
  return `${[opening, ...parts, closing].join("\n\n")}\n`;
}

const tableText = (header: string, table: TomlTable): string =>
  [header, ...[...table].map(([key, value]) => `${tomlKey(key)} = ${tomlValue(value)}`)].join("\n");

const sorted = <T>(items: T[], by: (item: T) => string): T[] =>
  items.sort((a, b) => (by(a) < by(b) ? -1 : by(a) > by(b) ? 1 : 0));
