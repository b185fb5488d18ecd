import { type TomlTable, tomlKey, tomlValue } from "../../files/toml.js";
import type { RuntimeRecord } from "../../plan/runtime.js";

/** Hermes' marker lines in config.toml; clm uses the same, so that each finds the other's block. */
export const opening = "# managed by hermes-agent — `hermes codex-runtime migrate` regenerates this section";
export const closing = "# end hermes-agent managed section";
export const nothingInIt = "# (no MCP servers, plugins, or permissions configured by Hermes)";

export type Plugin = RuntimeRecord["plugins"][number];

export interface Block {
  /** The name of a permission profile; absent to leave it to Codex or the user. */
  permissions?: string | undefined;
  servers: ReadonlyMap<string, TomlTable>;
  plugins: readonly Plugin[];
  /** More lines of its tables, by their headers. */
  additions: ReadonlyMap<string, string>;
}

/** Tables to which Hermes and the user both add. */
export const tablesOfHermes: readonly (string | undefined)[] = ["mcp_servers", "plugins"];
export const headerOf = (path: readonly string[]): string => `[${path.map(tomlKey).join(".")}]`;
export const titleOfPlugin = ({ name, marketplace }: Omit<Plugin, "enabled">): string => `${name}@${marketplace}`;

/** In the order of Hermes, so that neither changes the other's text. */
export function blockText({ permissions, servers, plugins, additions }: Block): string {
  const parts = permissions === undefined ? [] : [`default_permissions = ${tomlValue(permissions)}`];
  const add = (path: string[], table: TomlTable) => {
    const header = headerOf(path);
    const lines = [...table].map(([key, value]) => `${tomlKey(key)} = ${tomlValue(value)}`);
    parts.push([header, ...lines].join("\n"));
    const addition = additions.get(header);
    if (addition !== undefined) parts.push(addition.replaceAll("\r\n", "\n").trimEnd());
  };
  for (const [name, table] of sorted([...servers], ([name]) => name)) add(["mcp_servers", name], table);
  for (const plugin of sorted([...plugins], titleOfPlugin))
    add(["plugins", titleOfPlugin(plugin)], new Map([["enabled", plugin.enabled]]));
  if (parts.length === 0) return `${[opening, nothingInIt, closing].join("\n")}\n`;
  return `${[opening, ...parts, closing].join("\n\n")}\n`;
}

const sorted = <T>(items: T[], by: (item: T) => string): T[] =>
  items.sort((a, b) => (by(a) < by(b) ? -1 : by(a) > by(b) ? 1 : 0));
