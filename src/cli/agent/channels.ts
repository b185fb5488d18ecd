import { type KnownChannel, knownChannels } from "../../flows/agent/channels.js";
import type { Handler, View } from "../command.js";
import { fieldsCell, fieldsData, fieldsLegend, versionsCell } from "../fields.js";
import type { channels } from "./commands.js";

const view: View<KnownChannel> = {
  columns: [
    { title: "name", value: ({ name }) => name, whole: true },
    { title: "flag", value: ({ kind }) => `--${kind}`, drop: 3 },
    { title: "title", value: ({ title }) => title, drop: 2 },
    { title: "fields", value: ({ fields }) => fieldsCell(fields) },
    { title: "versions", value: ({ when }) => versionsCell(when), drop: 1 },
  ],
  data: ({ name, kind, agent, title, help, when, fields }) => ({
    ...{ name, kind, agent, title, help, versions: when, fields: fieldsData(fields) },
  }),
  name: ({ name }) => name,
};

export const run: Handler<typeof channels> = async (_input, clm) => {
  clm.list(await knownChannels(clm.configDir), view);
  if (clm.format === "table") clm.ui.note(fieldsLegend);
  return undefined;
};
