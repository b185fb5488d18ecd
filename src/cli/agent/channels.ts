import type { ChannelType, McpType } from "../../agents/manifest/manifest.js";
import { loadTypes } from "../../agents/manifest/registry.js";
import type { Handler, View } from "../command.js";
import { fieldsCell, fieldsData, fieldsLegend, versionsCell } from "../fields.js";
import type { channels } from "./commands.js";

type KnownChannel = Pick<ChannelType & McpType, "title" | "help" | "when" | "fields"> & {
  name: string;
  /** The flag of `clm agent configure` that takes it. */
  kind: "channel" | "mcp";
  /** The agent type whose manifest has it. */
  agent: string;
};

export const run: Handler<typeof channels> = async (_input, clm) => {
  const types = await loadTypes(clm.configDir);
  const known = types.flatMap(({ manifest: { type: agent, channels, mcp } }): KnownChannel[] => [
    ...Object.entries(channels).map(([name, it]) => ({ ...it, name, kind: "channel" as const, agent })),
    ...Object.entries(mcp).map(([name, it]) => ({ ...it, name, kind: "mcp" as const, agent })),
  ]);
  clm.list(known, view);
  if (clm.format === "table") clm.ui.note(fieldsLegend);
};

const view: View<KnownChannel> = {
  columns: [
    { title: "name", value: ({ name }) => name, whole: true },
    { title: "flag", value: ({ kind }) => `--${kind}`, drop: 3 },
    { title: "title", value: ({ title }) => title, drop: 2 },
    { title: "fields", value: ({ fields }) => fieldsCell(fields) },
    { title: "versions", value: ({ when }) => versionsCell(when), drop: 1 },
  ],
  data: ({ name, kind, agent, title, help, when, fields }) => ({
    name,
    kind,
    agent,
    title,
    help,
    versions: when,
    fields: fieldsData(fields),
  }),
  name: ({ name }) => name,
};
