import { type TomlTable, tomlKey, tomlValue } from "../../render/toml.js";

/** The lines around what Hermes writes to config.toml, as it writes them: so each finds what the other left. */
export const opening = "# managed by hermes-agent — `hermes codex-runtime migrate` regenerates this section";
export const closing = "# end hermes-agent managed section";

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
}

export const titleOfPlugin = ({ name, marketplace }: Plugin): string => `${name}@${marketplace}`;

/** The block in the order in which Hermes writes it, so that one of the two changes nothing that the other wrote. */
export function blockText({ permissions, servers, plugins }: Block): string {
  const parts = [
    ...(permissions === undefined ? [] : [`default_permissions = ${tomlValue(permissions)}`]),
    ...sorted([...servers], ([name]) => name).map(([name, table]) => tableText(["mcp_servers", name], table)),
    ...sorted([...plugins], titleOfPlugin).map((plugin) =>
      tableText(["plugins", titleOfPlugin(plugin)], new Map([["enabled", plugin.enabled]])),
    ),
  ];
  if (parts.length === 0) {
    return `${[opening, "# (no MCP servers, plugins, or permissions configured by Hermes)", closing].join("\n")}\n`;
  }
  return `${[opening, ...parts, closing].join("\n\n")}\n`;
}

function tableText(path: string[], table: TomlTable): string {
  const lines = [...table].map(([key, value]) => `${tomlKey(key)} = ${tomlValue(value)}`);
  return [`[${path.map(tomlKey).join(".")}]`, ...lines].join("\n");
}

const sorted = <T>(items: T[], by: (item: T) => string): T[] =>
  items.sort((a, b) => (by(a) < by(b) ? -1 : by(a) > by(b) ? 1 : 0));
