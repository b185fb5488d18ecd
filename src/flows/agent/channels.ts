import type { ChannelType, McpType } from "../../agents/manifest.js";
import { loadTypes } from "../../agents/registry.js";

/** What an agent can be connected to, as `--channel` or `--mcp` of `clm agent configure` takes it. */
export type KnownChannel = Pick<ChannelType & McpType, "title" | "help" | "when" | "fields"> & {
  name: string;
  kind: "channel" | "mcp";
  /** The agent type whose manifest has it. */
  agent: string;
};

export async function knownChannels(configDir: string): Promise<KnownChannel[]> {
  const types = await loadTypes(configDir);
  return types.flatMap(({ manifest: { type: agent, channels, mcp } }) => [
    ...Object.entries(channels).map(([name, it]) => ({ ...it, name, kind: "channel" as const, agent })),
    ...Object.entries(mcp).map(([name, it]) => ({ ...it, name, kind: "mcp" as const, agent })),
  ]);
}
