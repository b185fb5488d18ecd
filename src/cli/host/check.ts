import type { Check } from "../../agents/check.js";
import { atMost } from "../../async/limit.js";
import { faults } from "../../errors.js";
import { checkHost } from "../../flows/host/check.js";
import { withSession } from "../../flows/session.js";
import type { Handler, View } from "../command.js";
import type { check } from "./commands.js";
import { chooseHosts } from "./options.js";

interface Row extends Check {
  host: string;
}

const view: View<Row> = {
  columns: [
    { title: "host", value: (row) => row.host, whole: true },
    { title: "check", value: (row) => row.id, whole: true },
    { title: "result", value: (row) => row.result, whole: true },
    // Printed in full below the table: one long reason would widen every row.
    { title: "reason", value: (row) => (isWell(row) ? row.reason : "see below") },
  ],
  details: (row) =>
    isWell(row) ? [] : [`${row.host} ${row.id}: ${row.reason}`, ...(row.fix ? [`  fix: ${row.fix}`] : [])],
  name: (row) => row.host,
  empty: "No hosts yet. Add one with: clm host add NAME --address ADDRESS",
};

const isWell = ({ result }: Row): boolean => result === "ok" || result === "skipped";

export const run: Handler<typeof check> = async ({ args, options }, clm) => {
  const { label, parallel, sudoPasswordFile } = options;
  const all = options.all || (args.names.length === 0 && label.length === 0);
  const hosts = chooseHosts(clm, { all, label, patterns: args.names });
  const rows = await withSession({ ...clm, sudoPasswordFile }, async (session) => {
    const checked = atMost(parallel, hosts, async (host) =>
      (await checkHost(session, host)).map((check): Row => ({ host: host.name, ...check })),
    );
    return (await Promise.all(checked)).flat();
  });
  clm.list(rows, view);
  return rows.some((row) => row.result === "fail") ? faults["check-failed"].exit : 0;
};
