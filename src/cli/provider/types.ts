import { type KnownType, providerTypes } from "../../flows/provider/types.js";
import type { Handler, View } from "../command.js";
import { fieldsCell, fieldsData, fieldsLegend, versionsCell } from "../fields.js";
import type { types } from "./commands.js";

const view: View<KnownType> = {
  columns: [
    { title: "type", value: ({ name }) => name, whole: true },
    { title: "title", value: ({ title }) => title, drop: 2 },
    { title: "fields", value: ({ fields }) => fieldsCell(fields) },
    { title: "versions", value: ({ when }) => versionsCell(when), drop: 1 },
    { title: "also", value: ({ aliases }) => aliases.join(", "), drop: 3 },
  ],
  data: ({ name, agent, title, help, aliases, when, model, test, fields }) => ({
    name,
    agent,
    title,
    help,
    aliases,
    versions: when,
    model,
    testable: test !== undefined,
    fields: fieldsData(fields),
  }),
  name: ({ name }) => name,
};

export const run: Handler<typeof types> = async (_input, clm) => {
  clm.list(await providerTypes(clm.configDir), view);
  if (clm.format === "table") clm.ui.note(fieldsLegend);
};
