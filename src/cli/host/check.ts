import type { Check } from "../../agents/check.js";
import { atMost } from "../../async/limit.js";
import { faults } from "../../errors.js";
import { checkHost } from "../../flows/host/check.js";
import { checkView } from "../agent-view.js";
import type { Handler, View } from "../command.js";
import type { check } from "./commands.js";
import { chooseHosts } from "./options.js";

interface Row extends Check {
  host: string;
}

const view: View<Row> = {
  ...checkView,
  columns: [{ title: "host", value: (row) => row.host, whole: true }, ...checkView.columns],
  details: (row) => (checkView.details?.(row) ?? []).map((line, at) => (at === 0 ? `${row.host} ${line}` : line)),
  empty: "No hosts yet. Add one with: clm host add NAME --address ADDRESS",
};

export const run: Handler<typeof check> = async ({ args, options }, clm) => {
  const { label, parallel } = options;
  const all = options.all || (args.names.length === 0 && label.length === 0);
  const hosts = chooseHosts(clm, { all, label, patterns: args.names });
  const rows = await clm.withSession(async (session) => {
    const checked = atMost(parallel, hosts, async (host) =>
      (await checkHost(session, host)).map((check): Row => ({ host: host.name, ...check })),
    );
    return (await Promise.all(checked)).flat();
  });
  clm.list(rows, view);
  return rows.some((row) => row.result === "fail") ? faults["check-failed"].exit : 0;
};
