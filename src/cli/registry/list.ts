import { type Entry, listRegistry } from "../../flows/registry/list.js";
import type { Handler, View } from "../command.js";
import type { list } from "./commands.js";

const view: View<Entry> = {
  columns: [
    { title: "type", value: (entry) => entry.type, whole: true },
    { title: "version", value: (entry) => entry.version, whole: true },
    { title: "reports", value: (entry) => entry.reports },
    { title: "stand-in", value: (entry) => (entry.standin ? "yes" : "no") },
    { title: "default", value: (entry) => entry.default },
    { title: "pinned by", value: (entry) => entry.pinned_by, drop: 2 },
    { title: "cached", value: (entry) => entry.cached, drop: 1 },
  ],
  name: ({ type, version }) => `${type} ${version}`,
};

export const run: Handler<typeof list> = async (_, clm) => {
  clm.list(await listRegistry(clm.configDir), view);
  return undefined;
};
